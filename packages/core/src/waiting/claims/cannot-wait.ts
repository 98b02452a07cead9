import { isRecord } from "../../base/json-values.ts";
import { type CannotWaitEvent, isFor, type WaitingContext } from "./waiting-context.ts";
import type { WaitingAnswer } from "../record/waiting-record.ts";

const concerns = {
  "no-task": ["task"],
  "no-event-id": ["stream", "question"],
  unheard: ["question"],
} as const;

/** Tells that a call cannot wait, where the connection wants that. */
export function tellCannotWait(
  context: WaitingContext,
  tool: string,
  reason: CannotWaitEvent["reason"],
): void {
  if (concerns[reason].some((each) => isFor(context, each))) {
    context.emit({ type: "cannot-wait", tool, reason });
  }
}

/**
 * Whether a call ended as servers of the SDK end one whose question nobody answered in a minute. Of one whose own stream
 * had no question, it went out on a stream that no step opens: no sign on the wire says so before.
 */
export function saysUnheard({ result }: Pick<WaitingAnswer, "result">): boolean {
  if (!isRecord(result) || result["isError"] !== true || !Array.isArray(result["content"])) {
    return false;
  }
  const [part] = result["content"] as unknown[];
  return isRecord(part) && /^(?:MCP error -32001: )?Request timed out\b/.test(String(part["text"]));
}
