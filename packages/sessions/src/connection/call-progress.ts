import { guarded } from "@durable-mcp/core/internal";
import type { ToolProgress } from "../declare/tool-options.ts";

/** Gets a call's progress. Not called any more once the call has its result. */
export type ObserveProgress = (progress: ToolProgress) => void;

/** A bar needs no more. Servers may report each of thousands of items. */
const intervalMs = 100;

/**
 * Runs a tool call whose progress goes to `observers`, at most every 100 ms: of several reports meanwhile the last.
 *
 * @param observers their errors are dropped
 * @param run makes the call with one observer; without any if there are none
 */
export async function reportProgress<T>(
  observers: readonly (ObserveProgress | undefined)[],
  run: (observe: ObserveProgress | undefined) => Promise<T>,
): Promise<T> {
  const listening = observers.filter((observe) => observe !== undefined).map(guarded);
  if (listening.length === 0) return await run(undefined);
  let latest: ToolProgress | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const flush = () => {
    const progress = latest;
    latest = undefined;
    if (progress !== undefined) for (const observe of listening) observe(progress);
    return progress !== undefined;
  };
  const pace = () => {
    timer = flush() ? setTimeout(pace, intervalMs) : undefined;
  };
  try {
    return await run((progress) => {
      latest = progress;
      if (timer === undefined) pace();
    });
  } finally {
    clearTimeout(timer);
    flush();
  }
}
