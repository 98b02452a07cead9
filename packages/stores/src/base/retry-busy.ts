import { wait } from "@durable-mcp/core/internal";

/** The longest pause between two tries, in milliseconds. */
const maxPauseMs = 50;

/**
 * Tries something until no other process is in its way. It pauses between the tries, so this
 * process goes on meanwhile.
 *
 * @param timeoutMs in milliseconds; the last try comes then, and its error is thrown
 */
export async function retryBusy<T>(
  timeoutMs: number,
  run: () => T | Promise<T>,
  mayTryAgain: (error: unknown) => boolean | Promise<boolean> = isBusy,
): Promise<T> {
  const deadline = performance.now() + timeoutMs;
  for (let tries = 1; ; tries += 1) {
    try {
      return await run();
    } catch (error) {
      const left = deadline - performance.now();
      if (!(await mayTryAgain(error)) || left <= 0) throw error;
      await wait(Math.min(left, pauseMs(tries)));
    }
  }
}

/** The pause after so many tries, in milliseconds. The pauses grow, and differ between processes. */
export function pauseMs(tries: number): number {
  return 1 + Math.random() * Math.min(maxPauseMs, 2 ** tries);
}

/** `SQLITE_BUSY` and its extended codes, and a transaction of the application. */
export function isBusy(error: unknown): boolean {
  const { errcode, code } = error as { errcode?: unknown; code?: unknown };
  return (typeof errcode === "number" && (errcode & 0xff) === 5) || code === "TRANSACTION_OPEN";
}

/** The error for a database of the application in which it has a transaction open; if it is that. */
export function transactionOpen(error: unknown): Error | undefined {
  // SQLite has no code of its own for it, and `isTransaction` is missing in Node 22.13.
  if (!(error instanceof Error) || !/within a transaction/.test(error.message)) return undefined;
  return Object.assign(new Error(error.message), { code: "TRANSACTION_OPEN" });
}
