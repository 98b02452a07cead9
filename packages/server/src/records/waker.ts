/** Tells those who wait for a stored value to change of changes made in this process. */
export interface Waker {
  wake(key: string): void;
  /** Resolves at the next `wake(key)`, after `timeoutMs`, or when `signal` aborts. */
  wait(key: string, timeoutMs: number, signal: AbortSignal): Promise<void>;
}

export function createWaker(): Waker {
  const waiting = new Map<string, Set<() => void>>();
  return {
    wake: (key) => {
      for (const resolve of [...(waiting.get(key) ?? [])]) resolve();
    },
    wait: (key, timeoutMs, signal) =>
      new Promise((resolve) => {
        const sleepers = waiting.get(key) ?? new Set();
        waiting.set(key, sleepers);
        const done = () => {
          clearTimeout(timer);
          signal.removeEventListener("abort", done);
          sleepers.delete(done);
          if (sleepers.size === 0 && waiting.get(key) === sleepers) waiting.delete(key);
          resolve();
        };
        const timer = setTimeout(done, timeoutMs);
        sleepers.add(done);
        signal.addEventListener("abort", done);
        if (signal.aborted) done();
      }),
  };
}
