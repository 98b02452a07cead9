import type { Track } from "./registry-lifetime.ts";

type OnClose = () => void | Promise<void>;

/** The runs of one registry. Those that overlap end together. */
export interface OverlappingRuns {
  /**
   * @param onClose called once when the last of the runs that overlap is over, and on `shutdown`
   */
  run<T>(use: () => Promise<T>, onClose: OnClose | undefined): Promise<T>;
}

/**
 * @param options.close closes the registry; `undefined` when somebody else does
 * @param options.track has something closed with what the registry belongs to; returns how to forget it
 * @param options.reportNotCommitted told when `onClose` of a run fails that failed itself
 */
export function createOverlappingRuns({
  close: closeRegistry,
  abortSignal,
  track,
  reportNotCommitted,
}: {
  close: (() => Promise<void>) | undefined;
  abortSignal: AbortSignal;
  track: Track;
  reportNotCommitted: () => void;
}): OverlappingRuns {
  let running: ReturnType<typeof start> | undefined;
  // In its turn: first the calls under way are told to be cancelled, which a closed client does not.
  const closeEarly = () => queueMicrotask(() => void closeRegistry?.());

  /** What all runs that overlap have in common. */
  const start = () => {
    const onClose: OnClose[] = [];
    const failures: unknown[] = [];
    abortSignal.addEventListener("abort", closeEarly, { once: true });
    const closeNext = async () => {
      await closeRegistry?.();
      for (let call = onClose.shift(); call !== undefined; call = onClose.shift()) {
        // Of runs that overlap, one that cannot save keeps none of the others from it.
        try {
          await call();
        } catch (error) {
          failures.push(error);
        }
      }
      if (failures.length > 0) throw failures[0];
    };
    let closing = Promise.resolve();
    /** Once for `shutdown`, once at the end: what the first has failed with, the second fails with too. */
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
        abortSignal.removeEventListener("abort", closeEarly);
        await close().finally(forget);
      },
    };
  };

  return {
    async run(use, onClose) {
      running ??= start();
      const current = running;
      current.uses += 1;
      if (onClose) current.onClose.push(onClose);
      let result;
      try {
        abortSignal.throwIfAborted();
        result = await use();
      } catch (error) {
        // What the run failed with is what its caller has to know.
        await current.end().catch(reportNotCommitted);
        throw error;
      }
      await current.end();
      return result;
    },
  };
}
