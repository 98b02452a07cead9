import { isPrintable, isRecord } from "../base/json-values.ts";
import { createScrubber, scrubJson } from "../base/scrub-text.ts";
import { settles } from "./waiting-life.ts";
import type { WaitingAnswer, WaitingRecord } from "./waiting-record.ts";

/** A call whose JSON is longer, in characters, is not kept with questions. The rest is for its result. */
const maxAskedLength = 500_000;
/** With its result a call is not longer than this, in characters. A store takes records of a million. */
const maxSettledLength = 950_000;

/** A call with its result: in the place of one that is too long stands a note for the model. */
export function settlesBounded(call: WaitingRecord, answer: WaitingAnswer): WaitingRecord {
  const settled = settles(call, answer);
  return printedLength(settled) <= maxSettledLength ? settled : settlesLost(call, answer);
}

/** A call whose result is too long to be kept. */
export function settlesLost(call: WaitingRecord, answer: WaitingAnswer): WaitingRecord {
  const size = sizeOf(answer);
  const text = `The call was carried out. Its result ${size}, more than can be kept for a call that has waited, so it is lost.`;
  if (call.request.method !== "tools/call") {
    return settles(call, { error: { code: -32_603, message: text } });
  }
  const content = [{ type: "text", text }];
  return settles(call, { result: { resultType: "complete", content, isError: true } });
}

/** A call with its questions, or settled with an error if they are too long to be kept. */
export function asksBounded(before: WaitingRecord, asked: WaitingRecord): WaitingRecord {
  if (isKeepable(asked)) return asked;
  const message = `The server asked for input. The call with its questions ${sizeOf(asked)}, more than the ${maxAskedLength} characters that can wait. It was not carried out.`;
  return settles(before, { error: { code: -32_603, message } });
}

/** Whether a call that waits is short enough to be kept. */
export function isKeepable(call: WaitingRecord): boolean {
  return printedLength(call) <= maxAskedLength;
}

/** In characters of JSON. What is nested too deep to be printed can be kept nowhere. */
function printedLength(value: unknown): number {
  return isPrintable(value) ? JSON.stringify(value).length : Number.POSITIVE_INFINITY;
}

function sizeOf(value: unknown): string {
  const length = printedLength(value);
  return Number.isFinite(length) ? `has ${length} characters` : "is nested too deep";
}

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
