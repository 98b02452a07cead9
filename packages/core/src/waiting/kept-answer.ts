import type { WaitingAnswer, WaitingRecord } from "./waiting-record.ts";

/** A result whose JSON is longer, in characters, is not kept. A store takes records of a million. */
const maxLength = 500_000;

/** The answer as it is kept: in the place of one that is too long stands a note for the model. */
export function keptAnswer({ request }: WaitingRecord, answer: WaitingAnswer): WaitingAnswer {
  const { length } = JSON.stringify(answer);
  if (length <= maxLength) return answer;
  const text = `The call was carried out. Its result has ${length} characters, more than the ${maxLength} that are kept for a call that has waited, so it is lost.`;
  if (request.method !== "tools/call") return { error: { code: -32_603, message: text } };
  const content = [{ type: "text", text }];
  return { result: { resultType: "complete", content, isError: true } };
}
