import { setTimeout as sleep } from "node:timers/promises";

/** The longest pause between two tries, in milliseconds. */
const maxPauseMs = 50;

/**
 * Tries something synchronous until no other process is in its way. It pauses between the tries, so this
 * process goes on meanwhile. The pauses grow, and differ between processes.
 *
 * @param timeoutMs in milliseconds; the last try comes then, and its error is thrown
 */
export async function retryBusy<T>(timeoutMs: number, run: () => T): Promise<T> {
  const deadline = performance.now() + timeoutMs;
  for (let tries = 1; ; tries += 1) {
    try {
      return run();
    } catch (error) {
      const left = deadline - performance.now();
      if (!isBusy(error) || left <= 0) throw error;
      const pause = Math.random() * Math.min(maxPauseMs, 2 ** tries);
      await sleep(Math.min(left, 1 + pause));
    }
  }
}

/** `SQLITE_BUSY` and its extended codes. */
function isBusy(error: unknown): boolean {
  const { errcode } = error as { errcode?: unknown };
  return typeof errcode === "number" && (errcode & 0xff) === 5;
}
