import type { Random } from "./random.ts";
import type { Scheduler } from "./scheduler.ts";

/**
 * Runs `task` with timers that the scheduler fires and with random bytes that the seed decides, so
 * that core waits and names its requests the same way each time.
 */
export async function withVirtualGlobals<T>(
  scheduler: Scheduler,
  random: Random,
  task: () => Promise<T>,
): Promise<T> {
  const { setTimeout, clearTimeout } = globalThis;
  const abortSignal = Object.getOwnPropertyDescriptor(AbortSignal, "timeout")!;
  const setVirtual = (run: (...args: unknown[]) => void, ms = 0, ...args: unknown[]) => ({
    ...scheduler.setTimer(() => run(...args), ms),
    unref: () => undefined,
  });
  Object.assign(globalThis, {
    setTimeout: setVirtual,
    clearTimeout: (timer: { cancel?(): void } | undefined) => timer?.cancel?.(),
  });
  AbortSignal.timeout = (ms) => {
    const controller = new AbortController();
    const abort = () => controller.abort(new DOMException("Timed out.", "TimeoutError"));
    scheduler.setTimer(abort, ms);
    return controller.signal;
  };
  crypto.getRandomValues = (array) => {
    if (array instanceof Uint8Array)
      for (const index of array.keys()) array[index] = random.below(256);
    return array;
  };
  try {
    return await task();
  } finally {
    Object.assign(globalThis, { setTimeout, clearTimeout });
    Object.defineProperty(AbortSignal, "timeout", abortSignal);
    // The real one is the prototype's.
    Reflect.deleteProperty(crypto, "getRandomValues");
  }
}
