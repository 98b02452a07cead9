/** The calls of an unfinished answer, as its record has them. */

import type { AgentCall } from "../agent/before-call.ts";

/** What a page gets of a call that is over. */
export type CallEnd =
  | { readonly state: "output-available"; readonly output: unknown }
  | { readonly state: "output-error"; readonly errorText: string };

/** A call that has begun. */
export interface NotedCall extends AgentCall {
  readonly end?: CallEnd | undefined;
}

/** The longest arguments that are noted with a call, in characters of JSON. */
const maxInput = 20_000;
/** What is noted of the ends of all calls, in characters of JSON. As JSON in JSON it may be twice as long. */
const maxEnds = 100_000;
const tooLong: CallEnd = {
  state: "output-error",
  errorText:
    "This call has ended. Its result is lost with the process that made it: it was too long to keep.",
};

export function withCall(calls: readonly NotedCall[], call: AgentCall): readonly NotedCall[] {
  const isLong = (JSON.stringify(call.input)?.length ?? 0) > maxInput;
  return [...calls, isLong ? { ...call, input: {} } : call];
}

/** The same calls if none of them has this end. @param maxBytes of a record */
export function withEnd(
  calls: readonly NotedCall[],
  toolCallId: string,
  end: CallEnd,
  maxBytes = Infinity,
): readonly NotedCall[] {
  const at = calls.findLastIndex((call) => call.toolCallId === toolCallId && !call.end);
  if (at === -1) return calls;
  const { length } = JSON.stringify([end, ...calls.map((call) => call.end)]);
  const isLong = length > Math.min(maxEnds, maxBytes / 8);
  return calls.with(at, { ...calls[at]!, end: isLong ? tooLong : end });
}
