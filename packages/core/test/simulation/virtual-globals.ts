import { createHash } from "node:crypto";
import type { Random } from "./random.ts";
import type { Scheduler } from "./scheduler.ts";

const cancel = (timer: { cancel?(): void } | undefined) => timer?.cancel?.();

/**
 * Runs `task` with timers that the scheduler fires, with its clock, with random bytes that the seed decides, and with
 * digests that take no time, so that core waits and names its requests the same way each time.
 */
export async function withVirtualGlobals<T>(
  scheduler: Scheduler,
  random: Random,
  task: () => Promise<T>,
): Promise<T> {
  const { setTimeout, clearTimeout, setInterval, clearInterval } = globalThis;
  const clock = Object.getOwnPropertyDescriptor(performance, "now");
  const setVirtual = (run: (...args: unknown[]) => void, ms = 0, ...args: unknown[]) => ({
    ...scheduler.setTimer(() => run(...args), ms),
    unref: () => undefined,
  });
  const repeatVirtual = (run: () => void, ms: number) => {
    const start = () => {
      timer = scheduler.setTimer(() => {
        start();
        run();
      }, ms);
    };
    let timer: { cancel(): void };
    start();
    return { cancel: () => timer.cancel(), unref: () => undefined };
  };
  Object.assign(globalThis, {
    ...{ setTimeout: setVirtual, clearTimeout: cancel },
    ...{ setInterval: repeatVirtual, clearInterval: cancel },
  });
  crypto.subtle.digest = async (_, data) => {
    const hash = createHash("sha256")
      .update(data as Uint8Array)
      .digest();
    return Uint8Array.from(hash).buffer;
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
    Object.assign(globalThis, { setTimeout, clearTimeout, setInterval, clearInterval });
    Reflect.deleteProperty(crypto.subtle, "digest");
    // The real ones are the prototypes'.
    if (clock) Object.defineProperty(performance, "now", clock);
    else Reflect.deleteProperty(performance, "now");
    Reflect.deleteProperty(crypto, "getRandomValues");
  }
}
