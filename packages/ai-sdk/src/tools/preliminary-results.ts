import type { CallToolResult } from "@ai-sdk/mcp";
import type { ObserveProgress, ToolProgress } from "../connection/call-progress.ts";

/** Holds the progress in the `_meta` of a preliminary result. */
const metaKey = "durable-mcp/progress";

/** A preliminary result of a tool: its text is the progress's message. */
function preliminaryResult(progress: ToolProgress): CallToolResult {
  const { message } = progress;
  const content = message === undefined ? [] : [{ type: "text" as const, text: message }];
  return { content, _meta: { [metaKey]: progress } };
}

const ignore = () => undefined;

/**
 * The results of a call for AI SDK, which reads an `AsyncIterable`: a preliminary one for each report of
 * progress, and then the final one. For callers that await it, it is a promise of the final result.
 *
 * @param run makes the call, at once
 */
export function withPreliminaryResults<T>(
  run: (observe: ObserveProgress) => Promise<T>,
): Promise<T> & AsyncIterable<T | CallToolResult> {
  let latest: ToolProgress | undefined;
  let news = Promise.withResolvers<void>();
  const result = run((progress) => {
    latest = progress;
    news.resolve();
  });
  async function* results(): AsyncGenerator<T | CallToolResult, void> {
    const over = result.then(ignore, ignore);
    for (;;) {
      await Promise.race([news.promise, over]);
      const progress = latest;
      if (progress === undefined) {
        yield await result;
        return;
      }
      latest = undefined;
      news = Promise.withResolvers();
      yield preliminaryResult(progress);
    }
  }
  return Object.assign(result, { [Symbol.asyncIterator]: results });
}
