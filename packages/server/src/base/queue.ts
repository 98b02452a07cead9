export type RunInTurn = <T>(task: () => Promise<T>) => Promise<T>;

/** Runs tasks one at a time, in order. A failed task fails for its own caller and stops no other. */
export function createQueue(): RunInTurn {
  let last: Promise<unknown> = Promise.resolve();
  return (task) => {
    const result = last.then(task);
    last = result.catch(() => {});
    return result;
  };
}
