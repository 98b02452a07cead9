import { join } from "node:path";
import type { BenchRatio } from "../report/part.ts";
import { medianRatio } from "../report/ratio.ts";
import type { DelayedServer } from "./start-delayed-server.ts";
import { runProgram } from "./step-process.ts";

/** Their list has 1.08 MB, which is far more than a step saves: each step asks for it. */
const toolCount = 500;
const defaultRounds = 60;

interface Step {
  readonly ms: number;
  readonly cpuMs: number;
  /** How often the tool was called in its session. */
  readonly said: string;
}

/** Resumed steps with many tools beside steps of `@ai-sdk/mcp` alone, in one warm process, on a server without delay. */
export async function measureManyTools(
  server: DelayedServer,
  folder: string,
  rounds = defaultRounds,
): Promise<BenchRatio[]> {
  const { output } = await runProgram({
    program: "many-tools.js",
    args: [server.url(0, toolCount), join(folder, "many-tools"), String(rounds)],
  });
  const { durable, bare } = JSON.parse(output) as Record<"durable" | "bare", Step[]>;
  if (durable.some(({ said }, n) => Number(said) !== Number(durable[0]!.said) + n)) {
    throw new Error("A step with many tools was not resumed.");
  }
  const ratio = (figure: "ms" | "cpuMs") =>
    medianRatio(
      durable.map((step) => step[figure]),
      bare.map((step) => step[figure]),
    );
  const group = `a warm resumed step, ${toolCount} tools of 1.08 MB`;
  return [
    { group, label: "time ÷ bare", ...ratio("ms"), target: { atMost: 1.2 } },
    { group, label: "processor time ÷ bare", ...ratio("cpuMs") },
  ];
}
