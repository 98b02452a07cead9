import type { SessionStore } from "@durable-mcp/core";

/** Waits for changes of one session's stored values. */
interface Watch {
  /**
   * Resolves when something was changed since the last time, perhaps without a change, after
   * `timeoutMs`, or when `signal` aborts.
   */
  next(timeoutMs: number, signal: AbortSignal): Promise<void>;
  stop(): void;
}

/** Tells those who wait for a session's stored values to change, in every process. */
export interface Signals {
  /** After a change that others wait for. A signal that is lost costs time, and nothing else. */
  send(topic: string): void;
  watch(topic: string): Watch;
  /** For what only this process learns of at once. */
  wake(topic: string): void;
  watchHere(topic: string): Watch;
}

/**
 * Signals through the store. Where it has none, those of this process come at once, and those of
 * others count as sent every `pollIntervalMs`.
 */
export function createSignals(store: SessionStore, pollIntervalMs: number): Signals {
  const watches = new Map<string, Set<() => void>>();
  const endSubscription = new Map<string, () => void>();
  const canSubscribe = store.subscribe !== undefined && store.publish !== undefined;

  function wake(topic: string): void {
    for (const wakeOne of [...(watches.get(topic) ?? [])]) wakeOne();
  }

  function enter(topic: string, wakeOne: () => void, subscribes: boolean): void {
    const others = watches.get(topic);
    if (others) {
      others.add(wakeOne);
      return;
    }
    watches.set(topic, new Set([wakeOne]));
    const end = subscribes ? store.subscribe?.(topic, () => wake(topic)) : undefined;
    if (end) endSubscription.set(topic, end);
  }

  function leave(topic: string, wakeOne: () => void): void {
    const all = watches.get(topic);
    all?.delete(wakeOne);
    if (all?.size !== 0) return;
    watches.delete(topic);
    endSubscription.get(topic)?.();
    endSubscription.delete(topic);
  }

  function watch(topic: string, subscribes: boolean): Watch {
    let isWoken = false;
    let wakeUp: (() => void) | undefined;
    const wakeOne = () => {
      isWoken = true;
      wakeUp?.();
    };
    enter(topic, wakeOne, subscribes);
    return {
      next: async (timeoutMs, signal) => {
        if (!isWoken && !signal.aborted) {
          const { promise, resolve } = Promise.withResolvers<void>();
          wakeUp = resolve;
          const limit = subscribes ? timeoutMs : Math.min(timeoutMs, pollIntervalMs);
          const timer = setTimeout(resolve, limit);
          const onAbort = () => resolve();
          signal.addEventListener("abort", onAbort);
          await promise;
          clearTimeout(timer);
          signal.removeEventListener("abort", onAbort);
        }
        isWoken = false;
      },
      stop: () => leave(topic, wakeOne),
    };
  }

  return {
    send: (topic) => {
      wake(topic);
      // The store has emitted its failure.
      store.publish?.(topic).catch(() => {});
    },
    watch: (topic) => watch(topic, canSubscribe),
    wake,
    watchHere: (topic) => watch(topic, false),
  };
}
