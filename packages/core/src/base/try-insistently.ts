import { timeLimited, wait } from "./bounded-wait.ts";

/**
 * Tries what nobody else can do, again and again for `ms` milliseconds, and once more after that.
 *
 * @param isFinal whether an error comes however often it is tried
 * @throws the error of the last attempt
 */
export async function tryInsistently<T>(
  ms: number,
  attempt: () => Promise<T>,
  isFinal = (_error: unknown) => false,
): Promise<T> {
  return await timeLimited(ms, undefined, async (signal) => {
    for (let pauseMs = 100; ; pauseMs = Math.min(2 * pauseMs, 1_000)) {
      const isLast = signal.aborted;
      try {
        return await attempt();
      } catch (error) {
        if (isLast || isFinal(error)) throw error;
        await wait(pauseMs, signal).catch(() => undefined);
      }
    }
  });
}
