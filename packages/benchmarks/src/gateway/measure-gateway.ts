import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startRedis } from "../../../stores/test/redis-server.ts";
import type { BenchOptions, BenchPart } from "../report/part.ts";
import { medianRatio } from "../report/ratio.ts";
import {
  callMany,
  type Measured,
  measureMemory,
  measureRound,
  startMeasured,
  stopMeasured,
} from "./measured.ts";

const callers = 8;
const callsPerRound = 800;
const warmUpCalls = 4_000;
const measuredSessions = 900;
const measuredStreams = 300;

type Memory = Awaited<ReturnType<typeof measureMemory>>;

/**
 * What a call through a gateway costs, before one server: ours over SQLite and Redis, mcp-proxy's library, supergateway,
 * and one that passes bytes on.
 */
export async function measureGateway({ rounds = 20 }: BenchOptions): Promise<BenchPart> {
  const stack = new AsyncDisposableStack();
  try {
    const start = async (program: string, ...args: string[]) =>
      stack.adopt(await startMeasured(program, ...args), stopMeasured);
    const folder = mkdtempSync(join(tmpdir(), "durable-mcp-bench-"));
    stack.defer(() => rmSync(folder, { recursive: true, force: true }));
    const redis = stack.adopt(await startRedis(), (each) => each.remove());
    const upstream = await start("upstream-program.ts");
    const target = `http://127.0.0.1:${upstream.port}/mcp`;
    const kinds = {
      "gateway, SQLite": await start(
        "gateway-program.ts",
        target,
        `file:${join(folder, "gateway.db")}`,
      ),
      "gateway, Redis": await start(
        "gateway-program.ts",
        target,
        `redis://127.0.0.1:${redis.port}`,
      ),
      "mcp-proxy": await start("mcp-proxy-program.ts", target),
      supergateway: await start("supergateway-program.ts", target),
      "bytes passed on": await start("bare-program.ts", target),
    };
    const all = Object.values(kinds);
    for (const each of all) await callMany(each, callers, warmUpCalls);
    for (let round = 0; round < rounds; round += 1)
      for (const each of all) await measureRound(each, callers, callsPerRound);
    // supergateway has two processes for a session.
    const { supergateway: _, "bytes passed on": __, ...alike } = kinds;
    const memory = new Map<string, Memory>();
    for (const [name, each] of Object.entries(alike))
      memory.set(name, await measureMemory(each, measuredSessions, measuredStreams));
    return report(kinds, memory);
  } finally {
    await stack.disposeAsync();
  }
}

function report(kinds: Readonly<Record<string, Measured>>, memory: ReadonlyMap<string, Memory>) {
  const proxy = kinds["mcp-proxy"]!;
  const ours = Object.entries(kinds).filter(([name]) => name.startsWith("gateway"));
  const counted = [...memory].filter(([name]) => name.startsWith("gateway"));
  return {
    id: "gateway",
    title: "The gateway beside others, before one server",
    ratios: ours.flatMap(([group, { callsPerSecond, cpuMs }]) => [
      {
        ...{ group, label: "calls a second, of mcp-proxy's" },
        ...medianRatio(callsPerSecond, proxy.callsPerSecond),
        target: { atLeast: 1.2 },
      },
      {
        ...{ group, label: "CPU a call, of mcp-proxy's" },
        ...medianRatio(cpuMs, proxy.cpuMs),
        target: { atMost: 0.85 },
      },
    ]),
    counts: counted.flatMap(([group, { session, stream }]) => [
      {
        ...{ group, label: "memory a session", unit: "KB" },
        value: Math.round(session),
        target: { atMost: 13 },
      },
      {
        ...{ group, label: "memory of an open GET", unit: "KB" },
        value: Math.round(stream),
        target: { atMost: 20 },
      },
    ]),
    tables: [
      {
        title: "Medians of the rounds",
        columns: ["through", "calls a second", "CPU ms a call"],
        rows: Object.entries(kinds).map(([name, { callsPerSecond, cpuMs }]) => [
          name,
          Math.round(median(callsPerSecond)),
          median(cpuMs).toFixed(2),
        ]),
      },
      {
        title: "Memory after a collection of garbage, in KB",
        columns: ["through", "a session", "an open GET"],
        rows: [...memory].map(([name, { session, stream }]) => [
          name,
          Math.round(session),
          Math.round(stream),
        ]),
      },
    ],
    notes: [
      `${callers} callers, a session each, ${callsPerRound} calls a round, rounds in turn, all warm. Memory: of ${measuredSessions} sessions with a call each, and of ${measuredStreams} streams; mcp-proxy opens the server's stream with the session. supergateway stands before programs: before a URL it runs one of its own for each session, whose CPU counts.`,
    ],
  };
}

const median = (values: readonly number[]) => values.toSorted((a, b) => a - b)[values.length >> 1]!;
