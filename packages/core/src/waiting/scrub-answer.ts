import { isRecord } from "../base/json-values.ts";
import { createScrubber, scrubJson } from "../base/scrub-text.ts";
import type { WaitingAnswer, WaitingRecord } from "./waiting-record.ts";

/**
 * A server's answer as it is kept. One that says that the call failed does not repeat what the leg has sent: the
 * `requestState`, and what `scrub` takes out. The words of other results are the server's own.
 */
export function scrubAnswer(
  answer: WaitingAnswer,
  { requestState = "" }: WaitingRecord,
  scrub: (text: string) => string = (text) => text,
): WaitingAnswer {
  const scrubState = createScrubber([requestState], "[request state]");
  const scrubText = (text: string) => scrub(scrubState(text));
  const { error, result } = answer;
  if (error !== undefined) {
    return { error: scrubJson(error, scrubText, ["code", "message", "data"]) as typeof error };
  }
  if (result["isError"] !== true) return answer;
  /** What MCP itself gives a meaning to stays, for a short state may be one of its words. */
  const scrubbed = (value: object, ...kept: string[]) => ({
    ...(scrubJson(value, scrubText, Object.keys(value)) as object),
    ...Object.fromEntries(Object.entries(value).filter(([name]) => kept.includes(name))),
  });
  const { content, ...others } = result;
  const ofOthers = scrubbed(others, "resultType");
  if (!Array.isArray(content)) return { result: ofOthers };
  const parts = content.map((part: unknown) => (isRecord(part) ? scrubbed(part, "type") : part));
  return { result: { ...ofOthers, content: parts } };
}
