import { createFaultyProxy } from "@durable-mcp/testing";
import { startModule } from "../processes/start-module.ts";
import type { TestServer } from "../servers/server-process.ts";
import type { StepCall } from "../steps/step-protocol.ts";
import type { AskingMatrixServer } from "./asking-servers.ts";
import type { ColdStep, ColdStepEnd } from "./cold-step-program.ts";
import type { MatrixServer } from "./matrix-server.ts";

/** The ways in which a connection is declared, in the order of the page. */
const coldWays = {
  stateless: {},
  stateful: { session: "stateful" },
  server: { memory: "server" },
  pinned: { memory: { pinMs: 3_600_000 } },
  "stateful, pinned": { session: "stateful", memory: { pinMs: 3_600_000 } },
} satisfies Record<string, ColdStep["options"]>;

export type ColdWay = keyof typeof coldWays;

export const coldWayNames = Object.keys(coldWays) as ColdWay[];

/** A server, and how many requests a call takes in a process that has only the state of another one. */
export interface ColdRow {
  name: string;
  requests: Partial<Record<ColdWay, number>>;
  /** Where this differs from what was expected, a line each. */
  surprises: string[];
  /** Why it did not run. */
  unavailable?: string;
}

/** What is needed of a server here. */
export interface ColdServer {
  name: string;
  start: () => Promise<TestServer>;
  unavailable?: string;
  call: StepCall;
  /** What the connection is declared with in each way. */
  options: ColdStep["options"];
  ways: readonly ColdWay[];
  /** In these ways a call must be the only request. */
  single: readonly ColdWay[];
}

/** A server of the matrix; `undefined` if no client can read it. */
export function coldServer(server: MatrixServer): ColdServer | undefined {
  const { name, start, unavailable, kind } = server;
  if (kind === "unreadable") return undefined;
  const hasIds = kind === "sessions" || kind === "ids unchecked";
  const single: Record<Exclude<typeof kind, "unreadable">, readonly ColdWay[]> = {
    sessions: ["stateful"],
    "one session": ["stateful"],
    "ids unchecked": ["stateful"],
    "no sessions": ["stateful", "pinned", "stateful, pinned"],
    "modern only": ["pinned", "stateful, pinned"],
  };
  return {
    ...{ name, start, options: {} },
    ...(unavailable !== undefined && { unavailable }),
    call: server.independentCall("cold", 1),
    // One process has one session, and beside a session nothing else is kept.
    ways: kind === "one session" ? ["stateful"] : hasIds ? coldWayNames.slice(0, -1) : coldWayNames,
    single: single[kind],
  };
}

/** A server that asks: the call waits, and its placeholder is the result. */
export function coldAskingServer({ name, start, tool, args }: AskingMatrixServer): ColdServer {
  return {
    name,
    start: () => start(600),
    call: { tool, args },
    options: { waiting: true },
    ways: ["stateless", "server", "pinned"],
    single: ["pinned"],
  };
}

/** Starts the server, takes two steps in each way, and counts the requests of the second one. */
export async function visitCold(cold: ColdServer): Promise<ColdRow> {
  const row: ColdRow = { name: cold.name, requests: {}, surprises: [] };
  if (cold.unavailable !== undefined) return { ...row, unavailable: cold.unavailable };
  const server = await cold.start();
  const proxy = await createFaultyProxy({ target: server.url });
  try {
    for (const way of cold.ways) {
      const use = { url: proxy.url, options: { ...cold.options, ...coldWays[way] } };
      const first = await takeStep({ ...use, call: cold.call });
      proxy.requests.splice(0);
      const second = await takeStep({ ...use, call: cold.call, state: first.state });
      const count = proxy.requests.splice(0).length;
      row.requests[way] = count;
      for (const { outcome } of [first, second]) {
        if (outcome.startsWith("broken"))
          row.surprises.push(`${cold.name}, a cold step, ${way}: saw ${outcome.slice(0, 160)}`);
      }
      if (cold.single.includes(way) && count !== 1)
        row.surprises.push(`${cold.name}, a cold step, ${way}: took ${count} requests`);
    }
  } finally {
    await proxy.close();
    await server.stop();
  }
  return row;
}

async function takeStep(input: ColdStep): Promise<ColdStepEnd> {
  const program = new URL("cold-step-program.ts", import.meta.url);
  const step = await startModule<ColdStep, ColdStepEnd>(program, { input });
  return (await step.finish()).output;
}
