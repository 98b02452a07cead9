import { settles } from "./waiting-life.ts";
import type { WaitingAnswer, WaitingRecord } from "./waiting-record.ts";

/** A call whose JSON is longer, in characters, is not kept with questions. The rest is for its result. */
const maxAskedLength = 500_000;
/** With its result a call is not longer than this, in characters. A store takes records of a million. */
const maxSettledLength = 950_000;

/** A call with its result: in the place of one that is too long stands a note for the model. */
export function settlesBounded(call: WaitingRecord, answer: WaitingAnswer): WaitingRecord {
  const settled = settles(call, answer);
  return JSON.stringify(settled).length <= maxSettledLength ? settled : settlesLost(call, answer);
}

/** A call whose result is too long to be kept. */
export function settlesLost(call: WaitingRecord, answer: WaitingAnswer): WaitingRecord {
  const { length } = JSON.stringify(answer);
  const text = `The call was carried out. Its result has ${length} characters, more than can be kept for a call that has waited, so it is lost.`;
  if (call.request.method !== "tools/call") {
    return settles(call, { error: { code: -32_603, message: text } });
  }
  const content = [{ type: "text", text }];
  return settles(call, { result: { resultType: "complete", content, isError: true } });
}

/** A call with its questions, or settled with an error if they are too long to be kept. */
export function asksBounded(before: WaitingRecord, asked: WaitingRecord): WaitingRecord {
  const { length } = JSON.stringify(asked);
  if (length <= maxAskedLength) return asked;
  const message = `The server asked for input. The call with its questions has ${length} characters, more than the ${maxAskedLength} that can wait. It was not carried out.`;
  return settles(before, { error: { code: -32_603, message } });
}
