import { createMCPClient } from "@ai-sdk/mcp";
import { createDurableSessions, defineMcpClientConnection } from "@durable-mcp/ai-sdk";
import { createMemoryStore } from "@durable-mcp/core";
import { allocationPerCall } from "../calls/inspector.ts";
import { forkServer } from "../fork-server.ts";
import type { BenchCount, BenchOptions, BenchPart, BenchRatio } from "../report/part.ts";
import { medianRatio } from "../report/ratio.ts";
import { countUnused } from "./count-unused.ts";

const framings = ["json", "sse"] as const;
const atMost = { json: 1.3, sse: 1.15 };
const maxAllocation = 100;
const callsPerRound = 400;
const allocationCalls = 500;
const call = { name: "read", arguments: { path: "notes.txt" } };

type Work = () => Promise<unknown>;

/** What our connection adds to the bare client's calls, and what connections cost that are not used. */
export async function measureStep({ rounds = 20, isQuick }: BenchOptions = {}): Promise<BenchPart> {
  const unused = await countUnused();
  const ratios: BenchRatio[] = [];
  const counts: BenchCount[] = [...unused.counts];
  if (!isQuick) {
    const server = await forkServer(new URL("../calls/answering-server.ts", import.meta.url));
    try {
      for (const framing of framings) {
        const measured = await measureCalls(`${server.origin}/${framing}/300/0`, framing, rounds);
        ratios.push(...measured.ratios);
        counts.push(measured.allocated);
      }
    } finally {
      server.stop();
    }
  }
  return {
    id: "step",
    title: "A call of a run, and connections that are not used",
    ...{ ratios, counts, tables: unused.tables },
    notes: [
      "A call is `run.call` on a session, beside `callTool` of `@ai-sdk/mcp` on one, in a process that is warm, with answers of 300 bytes. In each round both make 400 calls, in an order that changes. The calls of functions are those of V8's precise coverage, in the code of this repository.",
    ],
  };
}

async function measureCalls(url: string, framing: (typeof framings)[number], rounds: number) {
  const client = await createMCPClient({ transport: { type: "http", url } });
  const notes = defineMcpClientConnection({ url, description: "Notes.", session: "stateful" });
  const sessions = createDurableSessions({
    connections: { notes },
    store: createMemoryStore(),
    onEvent: () => undefined,
  });
  const use = { principal: { type: "app" } } as const;
  const run = await sessions.open("chat", use);
  const works = {
    bare: async () => await client.callTool(call),
    call: async () => await run.call("notes", call.name, call.arguments),
    step: async () =>
      await sessions.run("chat", use, async (own) => own.call("notes", call.name, call.arguments)),
    "bare step": async () => {
      const own = await createMCPClient({ transport: { type: "http", url } });
      await own.callTool(call);
      await own.close();
    },
  } satisfies Record<string, Work>;
  const names = Object.keys(works) as (keyof typeof works)[];
  const taken = Object.fromEntries(names.map((name) => [name, [] as number[]]));
  for (let round = -5; round < rounds; round += 1) {
    const turn = Math.abs(round) % names.length;
    for (const name of [...names.slice(turn), ...names.slice(0, turn)]) {
      const ms = await processorTime(works[name]);
      if (round >= 0) taken[name]!.push(ms);
    }
  }
  const allocated = await allocationPerCall(works.call, allocationCalls);
  await run.dispose();
  await sessions.shutdown();
  await client.close();
  const group = "processor time ÷ the bare client's, in a warm process";
  const label = framing.toUpperCase();
  return {
    ratios: [
      {
        ...{ group, label: `run.call, ${label}` },
        ...medianRatio(taken["call"]!, taken["bare"]!),
        target: { atMost: atMost[framing] },
      },
      {
        ...{ group, label: `a step with run.call alone, ${label}` },
        ...medianRatio(taken["step"]!, taken["bare step"]!),
      },
    ],
    allocated: {
      label: `run.call, ${label}: allocated`,
      value: Math.round(allocated),
      unit: "KB",
      target: { atMost: maxAllocation },
    },
  };
}

/** In milliseconds, for one of `callsPerRound`. */
async function processorTime(work: Work): Promise<number> {
  const start = process.cpuUsage();
  for (let n = 0; n < callsPerRound; n += 1) await work();
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1_000 / callsPerRound;
}
