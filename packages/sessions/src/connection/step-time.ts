import { anySignal } from "@durable-mcp/core/internal";

/** A period of use: a step, a run in it, or the time that a pool keeps a process. */
export interface StepTime {
  readonly signal: AbortSignal;
  readonly isActive: () => boolean;
  /** Marks the end (`"closing"`), then aborts work that is still under way (`"closed"`). */
  readonly end: (phase: "closing" | "closed") => void;
}

/** @param signals also end it, as far as the signal goes */
export function createStepTime(...signals: (AbortSignal | undefined)[]): StepTime {
  const closing = new AbortController();
  let isOver = false;
  return {
    signal: anySignal(...signals, closing.signal),
    isActive: () => !isOver,
    end(phase) {
      isOver = true;
      if (phase === "closed") closing.abort();
    },
  };
}
