import { join } from "node:path";
import { createSqliteStore } from "@durable-mcp/stores/sqlite";
import type { BenchRatio } from "../report/part.ts";
import { medianRatio } from "../report/ratio.ts";
import type { DelayedServer } from "../stores/start-delayed-server.ts";
import { createBareStep, createDurableStep, type WarmStep } from "../stores/warm-steps.ts";

/** The shorter list is kept. The longer one is more than a record of a store takes, so each step asks for it. */
const lists: ReadonlyMap<number, string> = new Map([
  [300, "0.65 MB"],
  [1_000, "2.16 MB"],
]);
const defaultRounds = 60;
const warmUpRounds = 5;

/** Resumed steps with many tools beside steps of `@ai-sdk/mcp` alone, in one warm process, on a server without delay. */
export async function measureManyTools(
  server: DelayedServer,
  folder: string,
  rounds = defaultRounds,
): Promise<BenchRatio[]> {
  const ratios: BenchRatio[] = [];
  for (const list of lists) ratios.push(...(await measureList(server, folder, rounds, list)));
  return ratios;
}

async function measureList(
  server: DelayedServer,
  folder: string,
  rounds: number,
  [toolCount, size]: readonly [number, string],
): Promise<BenchRatio[]> {
  const url = server.url(0, toolCount);
  const store = createSqliteStore({ path: join(folder, `many-tools-${toolCount}`) });
  const durable = { step: createDurableStep(url, store), taken: [] as TimedStep[] };
  const bare = { step: createBareStep(url, false), taken: [] as TimedStep[] };
  for (let round = 0; round < warmUpRounds + rounds; round += 1) {
    for (const { step, taken } of round % 2 === 0 ? [bare, durable] : [durable, bare]) {
      taken.push(await timeStep(step));
    }
  }
  await store.close();
  if (durable.taken.some(({ said }, n) => said !== String(n + 1))) {
    throw new Error("A step with many tools was not resumed.");
  }
  const ratio = (figure: "ms" | "cpuMs") => {
    const figures = ({ taken }: typeof bare) =>
      taken.slice(warmUpRounds).map((step) => step[figure]);
    return medianRatio(figures(durable), figures(bare));
  };
  const group = `a warm resumed step, ${toolCount} tools of ${size}`;
  return [
    { group, label: "time ÷ bare", ...ratio("ms"), target: { atMost: 1.1 } },
    { group, label: "processor time ÷ bare", ...ratio("cpuMs") },
  ];
}

interface TimedStep {
  readonly ms: number;
  readonly cpuMs: number;
  /** How often the tool was called in its session. */
  readonly said: string;
}

async function timeStep(step: WarmStep): Promise<TimedStep> {
  const start = performance.now();
  const cpu = process.cpuUsage();
  const said = await step();
  const { user, system } = process.cpuUsage(cpu);
  return { ms: performance.now() - start, cpuMs: (user + system) / 1_000, said };
}
