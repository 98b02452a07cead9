import { AsyncLocalStorage } from "node:async_hooks";
import { createHash } from "node:crypto";
import type { Random } from "./random.ts";
import type { Scheduler } from "./scheduler.ts";

/** The code of the schedule. Test files share a worker: what another has left behind keeps the real globals. */
const ofSchedule = new AsyncLocalStorage<true>();

type AnyFunction = (...args: any[]) => unknown;

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
  const undo: (() => void)[] = [];
  const replace = (object: object, name: string, virtual: AnyFunction) => {
    const own = Object.getOwnPropertyDescriptor(object, name);
    const real = (object as Record<string, AnyFunction>)[name]!.bind(object);
    const value: AnyFunction = (...args) =>
      ofSchedule.getStore() ? virtual(...args) : real(...args);
    Object.defineProperty(object, name, { value, configurable: true, writable: true });
    undo.push(() => {
      if (own) Object.defineProperty(object, name, own);
      else Reflect.deleteProperty(object, name); // The real one is the prototype's.
    });
  };
  replace(globalThis, "setTimeout", (run: AnyFunction, ms = 0, ...args) => ({
    ...scheduler.setTimer(() => run(...args), ms),
    unref: () => undefined,
  }));
  replace(globalThis, "setInterval", (run: () => void, ms: number) => {
    const start = () => {
      timer = scheduler.setTimer(() => {
        start();
        run();
      }, ms);
    };
    let timer: { cancel(): void };
    start();
    return { cancel: () => timer.cancel(), unref: () => undefined };
  });
  replace(globalThis, "clearTimeout", cancel);
  replace(globalThis, "clearInterval", cancel);
  replace(performance, "now", scheduler.now);
  replace(Math, "random", random.float);
  replace(crypto.subtle, "digest", async (_: string, data: Uint8Array) => {
    const hash = createHash("sha256").update(data).digest();
    return Uint8Array.from(hash).buffer;
  });
  replace(crypto, "getRandomValues", (array: Uint8Array) => {
    for (const index of array.keys()) array[index] = random.below(256);
    return array;
  });
  try {
    return await ofSchedule.run(true, task);
  } finally {
    for (const putBack of undo) putBack();
  }
}
