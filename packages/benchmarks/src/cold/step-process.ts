import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";

/** What one process did from its start to its exit. */
export interface StepFigures {
  readonly ms: number;
  /** The processor's time. Other work on the machine, and the wait for the server, are not in it. */
  readonly cpuMs: number;
  /** The most memory that it had at once. */
  readonly maxRssKilobytes: number;
  /** What the tool answered: how often it was called in its session. */
  readonly said: string;
  /** How many modules it loaded; only when they are counted. */
  readonly modules?: number;
}

interface MeasuredProgram {
  /** A file of `programs`. */
  readonly program: string;
  readonly args: readonly string[];
  /** Where Node keeps compiled code. @default nowhere */
  readonly compileCache?: string | undefined;
  /** The hooks take time: a process that counts is not measured. @default false */
  readonly isCounting?: boolean;
}

/** Runs one step in a process of its own, with the packages as they are published. */
export async function runStep({
  program,
  args,
  compileCache,
  isCounting = false,
}: MeasuredProgram): Promise<StepFigures> {
  const { NODE_OPTIONS: _, NODE_COMPILE_CACHE: __, ...env } = process.env;
  const hooks = isCounting ? ["--import", pathOf("count-modules.js")] : [];
  const start = performance.now();
  const child = spawn(process.execPath, [...hooks, pathOf(program), ...args], {
    stdio: ["ignore", "pipe", "inherit"],
    env: compileCache === undefined ? env : { ...env, NODE_COMPILE_CACHE: compileCache },
  });
  const printed = text(child.stdout);
  const [code] = await once(child, "exit");
  const ms = performance.now() - start;
  if (code !== 0) throw new Error(`${program} ended with ${String(code)}.`);
  const figures = (await printed)
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as object);
  return { ms, ...Object.assign({}, ...figures) } as StepFigures;
}

function pathOf(program: string): string {
  return fileURLToPath(new URL(`programs/${program}`, import.meta.url));
}
