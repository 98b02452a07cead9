import { isRecord } from "../../base/json-values.ts";
import { createScrubber, scrubJson } from "../../base/scrub-text.ts";
import { sessionIdHeader } from "../../session/session-headers.ts";
import type { LegOutcome } from "../legs/send-leg.ts";
import type { ScrubFor, WaitingContext } from "./waiting-context.ts";
import type { WaitingAnswer, WaitingRecord } from "../record/waiting-record.ts";

/** In characters. */
const maxMessageLength = 1_000;

const nothing: ScrubFor = () => (text) => text;

/** The outcome of a leg without secrets in the message of a task, which is shown. */
export function scrubOutcome<OUTCOME extends LegOutcome | { readonly type: "kept" | "waits-on" }>(
  { scrubFor = nothing }: Pick<WaitingContext, "scrubFor">,
  call: Pick<WaitingRecord, "request">,
  outcome: OUTCOME,
): OUTCOME {
  const { held } = outcome.type === "asks" ? outcome.question : { held: undefined, ...outcome };
  if (held?.type !== "task" || held.statusMessage === undefined) return outcome;
  const statusMessage = scrubFor(call)(held.statusMessage).slice(0, maxMessageLength);
  const shown = { held: { ...held, statusMessage } };
  return outcome.type === "asks"
    ? { ...outcome, question: { ...outcome.question, ...shown } }
    : { ...outcome, ...shown };
}

/**
 * A server's answer as it is kept. One that says that the call failed does not repeat what its requests have sent: the
 * `requestState`, the ids of its session, task and stream, and what `scrubFor` takes out. The words of other results are
 * the server's own.
 */
export function scrubAnswer(
  answer: WaitingAnswer,
  call: WaitingRecord,
  scrubFor: ScrubFor = nothing,
): WaitingAnswer {
  const { requestState = "", held, request } = call;
  const scrub = scrubFor(call);
  const scrubState = createScrubber([requestState], "[request state]");
  const { taskId, eventId } = { taskId: undefined, eventId: undefined, ...held };
  // A shorter one is a coincidence.
  const ids = [taskId, eventId, request.headers[sessionIdHeader]].flatMap((id = "") =>
    id.length > 3 ? [id] : [],
  );
  const scrubIds = createScrubber(ids, "[id]");
  const scrubText = (text: string) => scrub(scrubIds(scrubState(text)));
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
