import { type ChildProcess, spawn, type SpawnOptions } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { atExit } from "./at-exit.ts";

/** Starts a Node program that ends with this process. */
export function startProgram(
  program: URL,
  args: readonly string[],
  options: SpawnOptions = {},
): ChildProcess {
  const child = spawn(
    process.execPath,
    [...process.execArgv, fileURLToPath(program), ...args],
    options,
  );
  atExit(() => child.kill());
  return child;
}

/** Ends a program and waits until it is gone. */
export async function endProgram(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, "exit");
  child.kill(signal);
  await gone;
}
