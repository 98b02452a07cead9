import type { Random } from "./random.ts";
import type { Scheduler } from "./scheduler.ts";

/**
 * Runs `task` with timers that the scheduler fires, with its clock, and with random bytes that the seed decides, so
 * that core waits and names its requests the same way each time.
 */
export async function withVirtualGlobals<T>(
  scheduler: Scheduler,
  random: Random,
  task: () => Promise<T>,
): Promise<T> {
  const { setTimeout, clearTimeout } = globalThis;
  const abortSignal = Object.getOwnPropertyDescriptor(AbortSignal, "timeout")!;
  const clock = Object.getOwnPropertyDescriptor(performance, "now");
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
  performance.now = scheduler.now;
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
    // The real ones are the prototypes'.
    if (clock) Object.defineProperty(performance, "now", clock);
    else Reflect.deleteProperty(performance, "now");
    Reflect.deleteProperty(crypto, "getRandomValues");
  }
}
