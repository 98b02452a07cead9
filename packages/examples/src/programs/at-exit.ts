import { constants } from "node:os";

const cleanUps: (() => void)[] = [];

/**
 * Runs a clean-up when this process ends, on Ctrl-C too; the latest comes first. None can wait for
 * anything: a process that exits runs no more promises.
 */
export function atExit(cleanUp: () => void): void {
  if (cleanUps.push(cleanUp) > 1) return;
  process.on("exit", () => {
    for (const run of cleanUps.toReversed()) run();
  });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.on(signal, () => process.exit(128 + constants.signals[signal]));
  }
}
