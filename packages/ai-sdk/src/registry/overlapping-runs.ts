import type { ConnectionEvent } from "../events/connection-event.ts";
import type { RegistryLifetime } from "./registry-lifetime.ts";

type OnClose = () => void | Promise<void>;

export interface OverlappingRuns {
  /**
   * Runs `use`; `onClose` is called once when the last of the runs that overlap is over, and on
   * `shutdown`.
   */
  readonly run: <T>(use: () => Promise<T>, onClose: OnClose | undefined) => Promise<T>;
  /** Tells of an `onClose` that failed where no caller waits. */
  readonly reportNotCommitted: () => void;
}

/**
 * Lets overlapping runs of one registry end together.
 *
 * @param options.isLeased whether somebody else disposes of the registry
 */
export function createOverlappingRuns({
  lifetime: { signal, inUse, track, dispose },
  isLeased,
  emit,
}: {
  lifetime: RegistryLifetime;
  isLeased: boolean;
  emit: (event: ConnectionEvent) => void;
}): OverlappingRuns {
  let running: ReturnType<typeof start> | undefined;
  const closeRegistry = async () => {
    if (!isLeased) await dispose();
  };
  // Later, because the calls under way are cancelled first, and a closed client cannot do that.
  const closeEarly = () => queueMicrotask(() => void closeRegistry());

  /** Starts the part that all overlapping runs share. */
  const start = () => {
    const onClose: OnClose[] = [];
    const failures: unknown[] = [];
    signal.addEventListener("abort", closeEarly, { once: true });
    const closeNext = async () => {
      await closeRegistry();
      for (let call = onClose.shift(); call !== undefined; call = onClose.shift()) {
        // If one run cannot save, the others still can.
        try {
          await call();
        } catch (error) {
          failures.push(error);
        }
      }
      if (failures.length > 0) throw failures[0];
    };
    let closing = Promise.resolve();
    /** Called by `shutdown` and at the end. If the first call fails, the second fails with its error. */
    const close = async () => {
      closing = closing.then(closeNext, closeNext);
      await closing;
    };
    const forget = track(close);
    return {
      uses: 0,
      onClose,
      async end() {
        this.uses -= 1;
        if (this.uses > 0) return;
        running = undefined;
        signal.removeEventListener("abort", closeEarly);
        await close().finally(forget);
      },
    };
  };

  const reportNotCommitted = () => {
    for (const { name } of inUse) {
      emit({ type: "close-failed", connection: name, reason: "not-committed" });
    }
  };

  const run: OverlappingRuns["run"] = async (use, onClose) => {
    running ??= start();
    const current = running;
    current.uses += 1;
    if (onClose) current.onClose.push(onClose);
    let result;
    try {
      signal.throwIfAborted();
      result = await use();
    } catch (error) {
      // The caller must get the run's own failure.
      await current.end().catch(reportNotCommitted);
      throw error;
    }
    await current.end();
    return result;
  };
  return { run, reportNotCommitted };
}
