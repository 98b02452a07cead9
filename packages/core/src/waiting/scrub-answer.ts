import { isRecord } from "../base/json-values.ts";
import { createScrubber, scrubJson } from "../base/scrub-text.ts";
import type { WaitingAnswer, WaitingRecord } from "./waiting-record.ts";

/**
 * A server's answer as it is kept. An error does not repeat what the leg has sent: the `requestState`, and what
 * `scrub` takes out. The words of other results are the server's own.
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
  const { isError, content } = result;
  if (isError !== true || !Array.isArray(content)) return answer;
  const scrubbed = content.map((part: unknown) =>
    isRecord(part) && typeof part["text"] === "string"
      ? { ...part, text: scrubText(part["text"]) }
      : part,
  );
  return { result: { ...result, content: scrubbed } };
}
