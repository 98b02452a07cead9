import { setTimeout as sleep } from "node:timers/promises";
import { createConnectionProvider, defineMcpClientConnection } from "@durable-mcp/ai-sdk";
import type { BenchCount, BenchOptions, BenchPart } from "../report/part.ts";
import { markdownTable } from "../report/text-table.ts";
import { contenders, ofSessionEra, type Step } from "./contenders.ts";
import { type CountingServer, type ServerKind, serverKinds, startServer } from "./servers.ts";

/** Until a request that nobody waits for has arrived, in milliseconds. */
const settleMs = 50;

interface StepRequests {
  readonly methods: readonly string[];
  /** What the tool answered: in a session, how often it was called there. */
  readonly said: string;
}

/** The requests of a cold step, a client that has only what the step before it saved, on each kind of server. */
export async function measureRequests({ isQuick }: BenchOptions = {}): Promise<BenchPart> {
  const steps = {
    ...(isQuick !== true && contenders),
    ...ourSteps,
  };
  const counts: BenchCount[] = [];
  const rows: string[][] = [];
  for (const kind of Object.keys(serverKinds) as ServerKind[]) {
    for (const [name, step] of Object.entries(steps)) {
      if (kind.startsWith("2026") && ofSessionEra.includes(name)) continue;
      const { methods, said } = await countColdStep(kind, step);
      counts.push({
        group: kind,
        label: name,
        value: methods.length,
        unit: "requests",
        ...targetOf(kind, name),
      });
      rows.push([
        kind,
        name,
        methods.map((method) => `\`${method}\``).join(", "),
        keptText(kind, said),
      ]);
    }
  }
  return {
    id: "requests",
    title: "Requests of a cold step",
    ratios: [],
    counts,
    tables: [
      {
        title: "The requests, in their order",
        columns: ["server", "client", "requests", "the session went on"],
        rows,
      },
    ],
    notes: [markdownTable(overview(Object.keys(steps), counts))],
  };
}

type ConnectionOptions = Parameters<typeof defineMcpClientConnection>[0];
/** What the connection of a step says beside its address. */
type Kind = Omit<ConnectionOptions, "url" | "description">;

/** Longer than any step between two steps, in milliseconds. */
const pinMs = 3_600_000;

/** The same step with a connection of ours, which a state in JSON carries from one to the next. */
const ourSteps: Readonly<Record<string, Step>> = {
  "ours, stateless": createStep({}),
  "ours, stateless, memory": createStep({ memory: "server" }),
  "ours, stateless, pinned memory": createStep({ memory: { pinMs } }),
  "ours, stateful": createStep({ session: "stateful" }),
};

function createStep(kind: Kind): Step {
  return async (url, saved) => {
    const server = defineMcpClientConnection({
      ...{ url, description: "Counts.", toolNames: { prefix: false } },
      ...kind,
    });
    const provider = createConnectionProvider({ connections: { server } });
    const { result, session } = await provider.run(
      { session: { state: saved ?? {} }, principal: { type: "anonymous" } },
      async (run) =>
        (await run.tools())["count"]!.execute!(
          {},
          { toolCallId: "1", messages: [], context: {} },
        ) as Promise<unknown>,
    );
    await provider.shutdown();
    return { result, saved: session.state };
  };
}

/** A line for each client, a column for each kind of server. */
function overview(names: readonly string[], counts: readonly BenchCount[]) {
  const kinds = Object.keys(serverKinds);
  const valueOf = (name: string, kind: string) =>
    counts.find(({ label, group }) => label === name && group === kind)?.value ?? "–";
  return {
    columns: ["client", ...kinds],
    rows: names.map((name) => [name, ...kinds.map((kind) => valueOf(name, kind))]),
  };
}

/** Two steps: the first saves what it can, the second is counted. */
async function countColdStep(kind: ServerKind, step: Step): Promise<StepRequests> {
  const server = await startServer(kind);
  try {
    const first = await step(server.url, undefined);
    await sleep(settleMs);
    server.takeRequests();
    const saved: unknown =
      first.saved === undefined ? undefined : JSON.parse(JSON.stringify(first.saved));
    const { result } = await step(server.url, saved);
    return { methods: await settled(server), said: textOf(result) };
  } finally {
    server.close();
  }
}

async function settled(server: CountingServer): Promise<string[]> {
  await sleep(settleMs);
  return server.takeRequests();
}

/** The number that `count` said, in whatever a client makes of its result. */
function textOf(result: unknown): string {
  const text = typeof result === "string" ? result : JSON.stringify(result);
  const said = /^\d+$/.exec(text) ?? /"text":"(\d+)"/.exec(text);
  if (said === null) throw new Error(`The step gave no result of the tool: ${text}`);
  return said.at(-1)!;
}

function keptText(kind: ServerKind, said: string): string {
  if (kind !== "session era, with sessions") return "–";
  return said === "2" ? "yes" : "no";
}

/** One request for one call: with a session always, without one wherever the server or the application says so. */
function targetOf(kind: ServerKind, name: string): Pick<BenchCount, "target"> {
  if (oneRequest[kind].test(name)) return { target: { atMost: 1 } };
  // Where a memory cannot help, it sends what the bare client sends.
  return /^ours, .*memory$/.test(name) ? { target: { atMost: bareRequests[kind] } } : {};
}

const oneRequest: Readonly<Record<ServerKind, RegExp>> = {
  "session era, with sessions": /^ours, stateful$/,
  "session era, without ids": /^ours, (stateful$|.*memory$)/,
  "2026-07-28, ttlMs of an hour": /^ours, .*memory$/,
  "2026-07-28, ttlMs 0": /^ours, .*pinned memory$/,
};

/** What `@ai-sdk/mcp` sends in a cold step. */
const bareRequests: Readonly<Record<ServerKind, number>> = {
  "session era, with sessions": 8,
  "session era, without ids": 8,
  "2026-07-28, ttlMs of an hour": 3,
  "2026-07-28, ttlMs 0": 3,
};
