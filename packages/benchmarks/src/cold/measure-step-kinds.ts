import { join } from "node:path";
import { forkServer } from "../fork-server.ts";
import type { BenchTable } from "../report/part.ts";
import { median } from "../server-load/statistics.ts";
import type { DelayedServer } from "../stores/start-delayed-server.ts";
import { runStep, type StepFigures } from "./step-process.ts";

/** Steps that do something else than resume a session, and what their tool says. An answer is to the call parked before. */
const kinds = [
  { kind: "memory", label: "on a server without sessions, with `memory`", said: "1" },
  { kind: "token", label: "the same with a stored token of `@durable-mcp/oauth`", said: "1" },
  { kind: "park", label: "its call asks a person, and is kept", said: "waiting" },
  { kind: "answer", label: "the answer is sent, and the step goes on", said: "ordered" },
] as const;

const defaultRounds = 12;

/** Cold steps of other kinds, in turn, each in a process of its own; and the first use of what is loaded when it is used. */
export async function measureStepKinds(
  delayed: DelayedServer,
  folder: string,
  rounds = defaultRounds,
): Promise<BenchTable[]> {
  const server = await forkServer(new URL("kinds-server-program.ts", import.meta.url));
  const taken = new Map<string, StepFigures[]>(kinds.map(({ kind }) => [kind, []]));
  const uses = new Map<string, { first: number[]; second: number[] }>();
  try {
    // In the first one memory, token and tables are made.
    for (let round = 0; round <= rounds; round += 1) {
      for (const { kind, said } of kinds) {
        const file = join(folder, kind === "answer" ? "park" : kind);
        const args = [kind, server.origin, file, String(round)];
        const figures = await runStep({ program: "step-kind.js", args });
        if (figures.said !== said) throw new Error(`A step of the kind ${kind} was none.`);
        if (round > 0) taken.get(kind)!.push(figures);
      }
      const args = [delayed.url(0, 10), join(folder, "first-use")];
      const figures = await runStep({ program: "first-use.js", args });
      for (const { part, first, second } of (figures as FirstUses).uses) {
        const times = uses.get(part) ?? { first: [], second: [] };
        uses.set(part, times);
        times.first.push(first);
        times.second.push(second);
      }
    }
  } finally {
    server.stop();
  }
  return [
    {
      title: "Steps of other kinds, at 0 ms of round trip (medians)",
      columns: ["step", "time, ms", "processor time, ms", "memory, MB"],
      rows: kinds.map(({ kind, label }) => {
        const of = (figure: "ms" | "cpuMs" | "maxRssKilobytes") =>
          median(taken.get(kind)!.map((step) => step[figure]));
        const megabytes = Math.round(of("maxRssKilobytes") / 1024);
        return [label, Math.round(of("ms")), Math.round(of("cpuMs")), megabytes];
      }),
    },
    {
      title: "The first use of what is loaded when it is used, and the second, in ms (medians)",
      columns: ["use", "first", "second"],
      rows: [...uses].map(([part, { first, second }]) => [
        part,
        Number(median(first).toFixed(1)),
        Number(median(second).toFixed(1)),
      ]),
    },
  ];
}

type FirstUses = StepFigures & {
  readonly uses: readonly { part: string; first: number; second: number }[];
};
