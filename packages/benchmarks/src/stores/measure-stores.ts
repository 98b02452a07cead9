import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { SessionStore } from "@durable-mcp/core";
import { createSqliteStore } from "@durable-mcp/stores/sqlite";
import type { BenchCount, BenchOptions, BenchPart, BenchRatio } from "../report/part.ts";
import { medianRatio, verdictOf } from "../report/ratio.ts";
import { median, sum } from "../server-load/statistics.ts";
import { countSteps, type CountedStep, storesUnavailable } from "./counted-steps.ts";
import { startDelayedServer } from "./start-delayed-server.ts";
import {
  createBareStep,
  createDurableStep,
  createOwnSessionStep,
  type WarmStep,
} from "./warm-steps.ts";

const toolCount = 10;
/** How late the server answers each request, in milliseconds. */
const delayMs = 10;
/** A warm step of ours, divided by one of `@ai-sdk/mcp` alone. */
const atMost = 0.7;
const fewestRounds = 50;
const mostRounds = 400;

/** How many commands a step may send to its database: one read when resumed, one read and one write when new. */
const targets: Readonly<Record<string, number>> = { new: 2, resumed: 1 };

const contenders = ["durable", "bare", "bare, no DELETE", "own session options"] as const;

type Times = Readonly<Record<(typeof contenders)[number], readonly number[]>>;

/** What a step asks of its store, and how long it takes in a process that runs many. */
export async function measureStores({ rounds, isQuick }: BenchOptions = {}): Promise<BenchPart> {
  const folder = await mkdtemp(join(tmpdir(), "durable-mcp-warm-"));
  const server = await startDelayedServer();
  const store = createSqliteStore({ path: join(folder, "sessions.db") });
  try {
    const counted: CountedStep[] = [];
    for (const [name, reason] of Object.entries(storesUnavailable)) {
      if (reason === undefined) counted.push(...(await countSteps(name, server.url(0, toolCount))));
    }
    const times = isQuick
      ? undefined
      : await timeSteps(server.url(delayMs, toolCount), store, rounds);
    return toPart(counted, times);
  } finally {
    await store.close();
    server.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

/** One step of each in every round, in an order that changes, until the bounds decide about the target. */
async function timeSteps(
  url: string,
  store: SessionStore,
  wanted: number | undefined,
): Promise<Times> {
  const steps: Readonly<Record<keyof Times, WarmStep>> = {
    durable: createDurableStep(url, store),
    bare: createBareStep(url, false),
    "bare, no DELETE": createBareStep(url, true),
    "own session options": createOwnSessionStep(url),
  };
  const times = Object.fromEntries(
    contenders.map((name) => [name, [] as number[]]),
  ) as unknown as Record<keyof Times, number[]>;
  // The first step of ours makes the session, and all compile what they use.
  for (let round = 0; round < 10; round += 1) for (const name of contenders) await steps[name]();
  const isEnough = (round: number) => {
    if (wanted !== undefined || round >= mostRounds) return round >= (wanted ?? mostRounds);
    return round >= fewestRounds && ratiosOf(times).every((one) => verdictOf(one) !== "open");
  };
  for (let round = 0; !isEnough(round); round += 1) {
    const turn = round % contenders.length;
    for (const name of [...contenders.slice(turn), ...contenders.slice(0, turn)]) {
      const start = performance.now();
      await steps[name]();
      times[name].push(performance.now() - start);
    }
  }
  return times;
}

function ratiosOf(times: Times): BenchRatio[] {
  const group = `a warm resumed step, server at ${delayMs} ms, SQLite: time`;
  return [
    { group, label: "÷ bare", ...medianRatio(times.durable, times.bare), target: { atMost } },
    {
      group,
      label: "÷ bare, no DELETE",
      ...medianRatio(times.durable, times["bare, no DELETE"]),
      target: { atMost },
    },
    {
      group,
      label: "÷ own session options",
      ...medianRatio(times.durable, times["own session options"]),
    },
  ];
}

function toPart(counted: readonly CountedStep[], times: Times | undefined): BenchPart {
  const missing = Object.entries(storesUnavailable).filter(([, reason]) => reason !== undefined);
  return {
    id: "stores",
    title: "The store, and the warm step",
    ratios: times ? ratiosOf(times) : [],
    counts: counted.flatMap(countsOf),
    tables: [
      {
        title: "What a step asks of its store",
        columns: ["store", "step", "operations", "commands", "round trips"],
        rows: counted.map(({ store, step, operations, wire }) => [
          store,
          step,
          Object.entries(operations)
            .map(([name, count]) => (count === 1 ? name : `${count} × ${name}`))
            .join(", "),
          wire?.commands ?? "–",
          wire?.roundTrips ?? "–",
        ]),
      },
      {
        title: `A warm step, server at ${delayMs} ms (medians)`,
        columns: ["contender", "time, ms"],
        rows: Object.entries(times ?? {}).map(([name, ms]) => [name, median(ms).toFixed(1)]),
      },
    ],
    notes: [
      "Commands and round trips are counted by a proxy between the store's client and the database, once the database knows the scripts or statements. A round trip is each time that a client sends something after all that it has got, over all of its connections: a pool of PostgreSQL sends the reads of three connections at once, each over a connection of its own.",
      `The warm step runs in one process with all steps before it. The server is the official SDK's (version 1) in a process of its own, with ${toolCount} tools and sessions. “bare” is @ai-sdk/mcp alone: handshake, list, call, close. “own session options” is the same client with its session id, the result of the handshake and the definitions of the tools carried over in memory, by hand: nothing of it survives the process, or recovers when the server has forgotten the session. Our step takes longer than that: it reads its record and checks it, answers the client's whole handshake and its list, and makes the tools anew.`,
      ...missing.map(([name, reason]) => `${name} was not counted: ${reason}.`),
    ],
  };
}

/** What has a target. All else is in the table. */
function countsOf({ store, step, operations, wire }: CountedStep): BenchCount[] {
  const atMostOf = targets[step];
  if (atMostOf === undefined) return [];
  const count = (unit: string, value: number): BenchCount => {
    return { group: store, label: step, value, unit, target: { atMost: atMostOf } };
  };
  return [
    count("operations", sum(Object.values(operations))),
    ...(wire ? [count("commands", wire.commands), count("round trips", wire.roundTrips)] : []),
  ];
}
