import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Profiler, Session } from "node:inspector/promises";
import { createDurableSessions, defineMcpClientConnection } from "@durable-mcp/ai-sdk";
import type { SessionStore } from "@durable-mcp/core";
import { createSqliteStore } from "@durable-mcp/stores/sqlite";
import type { BenchPart } from "../report/part.ts";

const connectionCount = 200;
const principal = { type: "app" } as const;

/** What a step costs that uses none of many connections. */
export async function countUnused(): Promise<Pick<BenchPart, "counts" | "tables">> {
  const folder = await mkdtemp(join(tmpdir(), "durable-mcp-unused-"));
  const { store, reads } = countReads(createSqliteStore({ path: join(folder, "sessions.db") }));
  const connections = Object.fromEntries(
    Array.from({ length: connectionCount }, (_, index) => [`shop${index}`, defineShop(index)]),
  );
  const sessions = createDurableSessions({ connections, store });
  const step = async () => await sessions.run("chat", { principal }, () => undefined);
  // What is loaded, and made once, is none of a step's.
  for (let round = 0; round < 3; round += 1) await step();
  const before = reads();
  const { calls, places } = await countCalls(step);
  await sessions.shutdown();
  await rm(folder, { recursive: true, force: true });
  const label = `a step that uses none of ${connectionCount} connections`;
  return {
    counts: [
      { label, value: calls, unit: "function calls", target: { atMost: 5_000 } },
      { label, value: reads() - before, unit: "reads of the store", target: { atMost: 1 } },
    ],
    tables: [
      { title: "The functions that are called most", columns: ["function", "calls"], rows: places },
    ],
  };
}

const defineShop = (index: number) =>
  defineMcpClientConnection({
    url: `http://127.0.0.1:9/${index}`,
    description: "A shop.",
    session: "stateful",
  });

function countReads(own: SessionStore) {
  let count = 0;
  const store: SessionStore = {
    ...own,
    async get(key) {
      count += 1;
      return await own.get(key);
    },
    async getMany(keys) {
      count += 1;
      return await own.getMany!(keys);
    },
  };
  return { store, reads: () => count };
}

const shownPlaces = 15;

async function countCalls(work: () => Promise<unknown>) {
  const session = new Session();
  session.connect();
  await session.post("Profiler.enable");
  await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: true });
  // The first answer has what was called until now.
  await session.post("Profiler.takePreciseCoverage");
  await work();
  const { result } = await session.post("Profiler.takePreciseCoverage");
  session.disconnect();
  const counted = result.filter(isOurs).flatMap(({ url, functions }) =>
    functions.flatMap(({ functionName, ranges: [whole] }) => {
      const place = `${functionName || "(anonymous)"} ${url.replace(/^.*\/packages\//, "")}`;
      return whole && whole.count > 0 ? [[place, whole.count] as const] : [];
    }),
  );
  return {
    calls: counted.reduce((total, [, count]) => total + count, 0),
    places: counted.toSorted(([, a], [, b]) => b - a).slice(0, shownPlaces),
  };
}

const isOurs = ({ url }: Profiler.ScriptCoverage) =>
  url.includes("/packages/") && !url.includes("/node_modules/") && !url.includes("/benchmarks/");
