/** A call whose answer comes on a stream that any process can resume. */

import { isRecord } from "../../base/json-values.ts";
import { isTooDeep } from "../../base/server-limits.ts";
import { lastEventIdHeader } from "../../answer/resume-stream.ts";
import type { JsonRpcMessage } from "../../wire/json-rpc.ts";
import { letGo } from "../../wire/read-answer.ts";
import {
  askedIn,
  fateUnknown,
  hear,
  type HeldWay,
  type KeptCall,
  laterIfUnsure,
  sendAbout,
} from "./held-request.ts";
import type { LegOptions, LegOutcome } from "./send-leg.ts";
import { taskIn } from "./task-result.ts";
import { answerAgain, answerAsked, keyClosedBy } from "./unsure-answers.ts";
import { withoutMarks } from "../record/waiting-call.ts";
import type { HeldStream } from "../record/held.ts";

/** How long a look listens, in milliseconds. Servers replay what they have at once. */
const listenMs = 2_000;
/** After what time a stream is looked at again, if the server does not say so, in milliseconds. */
export const streamPauseMs = 2_000;

export const streamWay: HeldWay<HeldStream> = {
  look,
  async answer(call, held, responses, leg) {
    const { outcome: failure, unsure } = await answerAsked(call, responses, leg);
    if (failure !== undefined) return failure;
    const outcome = await look({ ...call, unsure }, held, leg);
    // The answer was sent, and the server goes on.
    const isLater = outcome.type === "not-sent";
    return isLater ? { type: "goes-on", held, pollMs: streamPauseMs, unsure } : outcome;
  },
  async cancel(call, { requestId }, leg) {
    const params = { requestId, reason: "The call was taken back." };
    const sent = await sendAbout(
      call,
      { message: { method: "notifications/cancelled", params } },
      leg,
    );
    if ("response" in sent) letGo(sent.response);
  },
};

/** @see https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#resumability-and-redelivery */
async function look(call: KeptCall, held: HeldStream, leg: LegOptions): Promise<LegOutcome> {
  const eventId = lastEventIdHeader(held.eventId);
  if (eventId === undefined) return fateUnknown(call);
  const about = { httpMethod: "GET", headers: { "last-event-id": eventId } } as const;
  const sent = await sendAbout(call, about, leg);
  if ("outcome" in sent) return laterIfUnsure(call, sent.outcome);
  const closed = new Set<string | undefined>();
  const take = (message: JsonRpcMessage) => {
    closed.add(keyClosedBy(message));
    const outcome = outcomeIn(message, held);
    return outcome?.type === "settles" && isTooDeep(message) ? fateUnknown(call) : outcome;
  };
  const heard = await hear(sent.response, listenMs, take, { signal: leg.signal });
  const next = { ...held, eventId: heard.eventId ?? held.eventId };
  const { found } = heard;
  if (found !== undefined && found.type !== "asks") return found;
  const unsure = await answerAgain(call, (key) => !closed.has(key), leg);
  if (found) return { type: "asks", question: { ...found.question, held: next, unsure } };
  const pollMs = Math.max(heard.retryMs ?? 0, streamPauseMs);
  return { type: "goes-on", held: next, pollMs, unsure };
}

function outcomeIn(message: JsonRpcMessage, { requestId }: HeldStream): LegOutcome | undefined {
  const question = askedIn(message);
  if (question !== undefined) return { type: "asks", question };
  if ("method" in message || message.id !== requestId) return undefined;
  const { result, error } = message;
  if (error !== undefined) return { type: "settles", answer: { error } };
  const task = taskIn(result);
  if (task !== undefined) return { type: "goes-on", held: task, pollMs: task.intervalMs };
  return isRecord(result)
    ? { type: "settles", answer: { result: withoutMarks(result) } }
    : undefined;
}
