import { createSharedTask } from "../base/shared-task.ts";

/** Renews what the server refused, once for all requests that were refused. */
export interface Renewal<T> {
  /** How often it has been renewed. */
  readonly count: number;
  /**
   * Gives what came of it; `undefined` if nothing did.
   *
   * @param since the count when the refused request was sent. If it was renewed since, it is not again
   */
  run(
    since: number,
    start: (signal: AbortSignal) => Promise<T>,
    signal: AbortSignal | undefined,
  ): Promise<T | undefined>;
}

export function createRenewal<T>(): Renewal<T> {
  const task = createSharedTask<T | undefined>();
  let last: T | undefined;
  let count = 0;
  return {
    get count() {
      return count;
    },
    async run(since, start, signal) {
      if (count > since) return last;
      return await task(async (shared) => {
        const renewed = await start(shared).catch(() => undefined);
        shared.throwIfAborted();
        last = renewed;
        count += 1;
        return renewed;
      }, signal);
    },
  };
}
