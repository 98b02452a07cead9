import type { BenchOptions, BenchPart } from "../report/part.ts";
import { medianRatio } from "../report/ratio.ts";
import {
  callMany,
  type Measured,
  measureRound,
  startMeasured,
  stopMeasured,
  treeMemoryKb,
} from "./measured.ts";

const callers = 8;
const callsPerRound = 400;
const warmUpCalls = 1_500;
const others = ["mcp-proxy", "supergateway"] as const;

/**
 * What a call through a gateway costs, before a program: ours with a process for each session and with one for all,
 * mcp-proxy, which has one for all, and supergateway, which has one for each session.
 */
export async function measurePrograms({ rounds = 20 }: BenchOptions): Promise<BenchPart> {
  const stack = new AsyncDisposableStack();
  try {
    const kinds = new Map<string, Measured>();
    const memory = new Map<string, number>();
    for (const kind of ["gateway", "shared", ...others]) {
      const each = stack.adopt(await startMeasured("before-program.ts", kind), stopMeasured);
      kinds.set(kind, each);
      await callMany(each, 1, 1);
      const before = treeMemoryKb(each.child.pid!);
      await callMany(each, callers, 2 * callers);
      memory.set(kind, (treeMemoryKb(each.child.pid!) - before) / (callers - 1));
    }
    for (const each of kinds.values()) await callMany(each, callers, warmUpCalls);
    for (let round = 0; round < rounds; round += 1)
      for (const each of kinds.values()) await measureRound(each, callers, callsPerRound);
    return report(kinds, memory);
  } finally {
    await stack.disposeAsync();
  }
}

function report(
  kinds: ReadonlyMap<string, Measured>,
  memory: ReadonlyMap<string, number>,
): BenchPart {
  const [proxy, supergateway] = others.map((kind) => kinds.get(kind)!.callsPerSecond);
  const own = { gateway: "a process for each session", shared: "one process for all" };
  return {
    id: "gateway-programs",
    title: "The gateway beside others, before a program",
    ratios: (["gateway", "shared"] as const).flatMap((kind) => {
      const { callsPerSecond } = kinds.get(kind)!;
      const group = own[kind];
      return [
        {
          ...{ group, label: "calls a second, of mcp-proxy's" },
          ...medianRatio(callsPerSecond, proxy!),
          target: { atLeast: 1.2 },
        },
        {
          ...{ group, label: "calls a second, of supergateway's" },
          ...medianRatio(callsPerSecond, supergateway!),
          target: { atLeast: 4 },
        },
      ];
    }),
    counts: [
      {
        label: "memory a session, one process for all",
        unit: "KB",
        value: Math.round(memory.get("shared")!),
        target: { atMost: Math.round(memory.get("supergateway")! / 2) },
      },
    ],
    tables: [
      {
        title: "Medians of the rounds, and memory",
        columns: ["through", "calls a second", "CPU ms a call", "KB a session"],
        rows: [...kinds].map(([kind, { callsPerSecond, cpuMs }]) => [
          kind in own ? `gateway, ${own[kind as keyof typeof own]}` : kind,
          Math.round(median(callsPerSecond)),
          median(cpuMs).toFixed(2),
          Math.round(memory.get(kind)!),
        ]),
      },
    ],
    notes: [
      `${callers} callers, a session each, ${callsPerRound} calls a round, rounds in turn, all warm. Memory: of all processes, by Linux' proportional set size. mcp-proxy has one process of the program for all sessions, supergateway one for each.`,
    ],
  };
}

const median = (values: readonly number[]) => values.toSorted((a, b) => a - b)[values.length >> 1]!;
