import type { Command } from "commander";
import { CommandFailure } from "../output/command-failure.ts";
import { createProgress } from "../output/print.ts";

/** Runs probes. An interruption of this process ends them, and they end their sessions. */
export async function interruptible<T>(
  command: Command,
  work: (signal: AbortSignal, progress: ReturnType<typeof createProgress>) => Promise<T>,
): Promise<T> {
  const interruption = new AbortController();
  const interrupt = () =>
    interruption.abort(new CommandFailure("Interrupted. The sessions of the probe were ended."));
  process.once("SIGINT", interrupt).once("SIGTERM", interrupt);
  const progress = createProgress(command);
  try {
    return await work(interruption.signal, progress);
  } finally {
    progress.clear();
    process.off("SIGINT", interrupt).off("SIGTERM", interrupt);
  }
}
