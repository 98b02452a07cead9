/** The calls of clients with a session, and the streams of their answers. */

import { lastEventIdHeader } from "../answer/resume-stream.ts";
import { onAbort, startLimit } from "../base/bounded-wait.ts";
import { utf8 } from "../wire/byte-parts.ts";
import { createEventSplitter, type EventBytes, eventText } from "../wire/event-splitter.ts";
import {
  emptyAnswer,
  type JsonRpcMessage,
  type JsonRpcRequest,
  methodOf,
  paramsOf,
  parseMessage,
} from "../wire/json-rpc.ts";
import { isEventStream, letGo } from "../wire/read-answer.ts";
import { bodyText, type OutgoingRequest } from "../wire/server-endpoint.ts";
import { answerWithPlaceholder, complete, textFor } from "./answer-edits.ts";
import type { CallInStep } from "./call-in-step.ts";
import { type CallUnderWay, nameOf } from "./call-under-way.ts";
import { askedIn } from "./held-request.ts";
import { type LegOutcome, openOutcome } from "./send-leg.ts";
import { streamPauseMs } from "./stream.ts";
import { saysUnheard } from "./cannot-wait.ts";
import { waitingCallOf, withoutMarks } from "./waiting-call.ts";
import { isFor, type WaitingContext } from "./waiting-context.ts";
import type { HeldStream } from "./held.ts";
import type { WaitingAnswer } from "./waiting-record.ts";

/** How any process finds a call. */
const held = ({ message, eventId }: CallUnderWay): HeldStream => ({
  ...{ type: "stream", requestId: message.id, eventId },
});

/** The calls of one client. What it leaves without an answer goes on at the server, where any process finds it. */
// oxlint-disable-next-line max-lines-per-function -- a call, its streams and its end share what is known of it
export function createSessionCalls(context: WaitingContext) {
  const underWay = new Set<CallUnderWay>();
  /** Those of which the server has said something that does not end them. */
  const taken = new Set<CallUnderWay>();
  /** Those whose clients do not have what takes the place of the answer, for a stream may break. */
  const untold = new Set<CallUnderWay>();
  /** The sessions of calls that go on without their client, and these calls, which it may not end. */
  const left = new Set<string>();
  /** The requests that the server was told to stop: nobody finds their answers. */
  const cancelled = new Set<string>();
  const canBeLeft = ({ eventId }: CallUnderWay) => eventId !== "" && isFor(context, "stream");
  const finish = (each: CallUnderWay) => {
    each.isOver = true;
    underWay.delete(each);
    each.stop();
  };

  const leaves = ({ request, message }: CallUnderWay) =>
    left.add(nameOf(request, message.id)).add(nameOf(request));

  /** @returns what the client gets for a call that is not over, or its end */
  const answerTo = async (each: CallUnderWay, outcome?: LegOutcome): Promise<WaitingAnswer> => {
    finish(each);
    const { call } = each;
    taken.add(each);
    untold.add(each);
    const answering = outcome ? call.take(outcome) : call.park(held(each), streamPauseMs);
    const answer = await answering.finally(() => taken.delete(each));
    if (waitingCallOf(answer.result)) leaves(each);
    return answer;
  };
  const take = async (each: CallUnderWay, outcome?: LegOutcome): Promise<string> =>
    await (each.taking = textFor(each.message.id, () => answerTo(each, outcome), each.fail));
  const onTime = async (each: CallUnderWay) => {
    each.isLate = true;
    if (!canBeLeft(each)) return each.call.cannotWait("no-event-id");
    if (each.end === undefined) return;
    const text = await take(each);
    each.end?.(text);
  };
  const onLeave = (each: CallUnderWay) => {
    if (canBeLeft(each) && !each.call.isStopped()) void leave(each);
    else finish(each);
  };
  /** A client has left its call. @returns what it would get */
  const leave = (each: CallUnderWay): Promise<string> => {
    // Before the client says that it has left.
    leaves(each);
    const taking = take(each);
    context.track?.(taking);
    return taking;
  };
  /** A client says that it has left a call. @returns whether its server goes on with it */
  const onCancel = (each: CallUnderWay): boolean => {
    if (each.call.isStopped()) return false;
    if (taken.has(each)) each.leave();
    else if (canBeLeft(each)) void leave(each).then(each.end);
    else return false;
    return true;
  };

  /** What the messages of a chunk say of the call; `undefined` if its client gets them as they are. */
  const outcomeIn = (
    each: CallUnderWay,
    messages: readonly JsonRpcMessage[],
  ): LegOutcome | undefined => {
    for (const answer of messages) {
      if ("method" in answer || answer.id !== each.message.id) continue;
      finish(each);
      if (saysUnheard(answer)) each.call.cannotWait("unheard");
      const own = openOutcome(answer, isFor(context, "question"));
      return (
        own ?? (each.call.isRecorded ? complete(answer, withoutMarks(answer.result)) : undefined)
      );
    }
    if (!isFor(context, "question")) return undefined;
    const asked = messages.map(askedIn).filter((question) => question !== undefined);
    if (asked.length > 0 && each.eventId === "") each.call.cannotWait("no-event-id");
    if (asked.length === 0 || each.eventId === "") return undefined;
    const requests = Object.fromEntries(asked.flatMap((one) => Object.entries(one.requests)));
    return { type: "asks", question: { requests, held: held(each) } };
  };

  /** What a chunk of its stream says of a call. It is noted how another process finds the call. */
  const read = async (each: CallUnderWay, arrived: readonly EventBytes[], lastEventId = "") => {
    const isCancelled = cancelled.has(nameOf(each.request, each.message.id));
    const eventId = isCancelled || lastEventIdHeader(lastEventId) === undefined ? "" : lastEventId;
    const isFirstId = each.eventId === "" && eventId !== "";
    each.eventId = eventId || each.eventId;
    const messages = arrived.map((event) => parseMessage(eventText(event)));
    const outcome = outcomeIn(
      each,
      messages.filter((message) => message !== undefined),
    );
    // What comes with an outcome does not come again.
    if (isFirstId && !outcome) await each.call.noteHeld(held(each));
    return outcome;
  };

  const watch = (each: CallUnderWay, response: Response): Response => {
    const { status, statusText, headers, body } = response;
    const splitter = createEventSplitter();
    const events = new TransformStream<Uint8Array, Uint8Array>({
      start(own) {
        each.end = (text) => {
          each.end = undefined;
          try {
            own.enqueue(inEvent(text));
            own.terminate();
            untold.delete(each);
          } catch {
            // Its client has left meanwhile.
          }
        };
      },
      async transform(chunk, own) {
        const arrived = splitter.push(chunk);
        const outcome = each.isOver ? undefined : await read(each, arrived, splitter.lastEventId);
        if (each.taking) return;
        const isDue = each.isLate && !each.isOver && canBeLeft(each);
        if (outcome ?? isDue) return each.end?.(await take(each, outcome));
        for (const part of arrived.flatMap(({ parts }) => parts)) own.enqueue(part);
      },
      async flush(own) {
        const text = await each.taking;
        if (text !== undefined && each.end) own.enqueue(inEvent(text));
        untold.delete(each);
        each.end = undefined;
        if (text !== undefined) return;
        for (const part of splitter.finish()?.parts ?? []) own.enqueue(part);
      },
    });
    return new Response(body!.pipeThrough(events), { status, statusText, headers });
  };

  return {
    /** What a client says of calls that go on without it, and must not reach the server. */
    withhold(request: OutgoingRequest): Response | undefined {
      if (request.method === "DELETE")
        return left.has(nameOf(request)) ? emptyAnswer(204) : undefined;
      const message = parseMessage(bodyText(request) ?? "");
      if (message === undefined || methodOf(message) !== "notifications/cancelled")
        return undefined;
      const name = nameOf(request, paramsOf(message)?.["requestId"]);
      const each = [...underWay, ...taken].find(
        (one) => nameOf(one.request, one.message.id) === name,
      );
      if (left.has(name) || (each && onCancel(each))) return emptyAnswer(202);
      cancelled.add(name);
      return undefined;
    },
    /** Sends what is no request: it may resume the stream of a call. */
    async resume(request: OutgoingRequest, send: () => Promise<Response>): Promise<Response> {
      const eventId = request.method === "GET" && request.headers.get("last-event-id");
      const each = [...underWay, ...untold].find(
        (one) => one.eventId !== "" && one.eventId === eventId,
      );
      if (each && (each.taking !== undefined || (each.isLate && canBeLeft(each))))
        return inStream(await (each.taking ?? take(each)));
      const response = await send();
      if (each === undefined || !isEventStream(response)) return response;
      if (each.taking === undefined) return watch(each, response);
      letGo(response);
      return inStream(await each.taking);
    },
    /** Sends a call, and waits for its answer as long as the step does. */
    async call(
      call: CallInStep,
      message: JsonRpcRequest,
      request: OutgoingRequest,
      { send, ...how }: Pick<CallUnderWay, "fail" | "leave"> & { send: () => Promise<Response> },
    ): Promise<Response> {
      const { id } = message;
      const each: CallUnderWay = {
        ...{ call, message, request, ...how, eventId: "", isOver: false, isLate: false },
        stop() {
          stopTimer();
          stopListening();
        },
      };
      const stopTimer = startLimit(call.until - context.now(), () => void onTime(each), true);
      const stopListening = onAbort(request.signal, () => onLeave(each));
      underWay.add(each);
      try {
        const response = await call.sent(send());
        if (isEventStream(response)) return watch(each, response);
        if (!response.ok) finish(each);
        const isKept = call.isRecorded;
        return answerWithPlaceholder(response, id, {
          ...{ stop: () => finish(each), take: (outcome) => answerTo(each, outcome), isKept },
          isAsked: isFor(context, "question"),
          fail: how.fail,
        });
      } catch (error) {
        finish(each);
        throw error;
      }
    },
  };
}

const inStream = (text: string) =>
  new Response(inEvent(text), { headers: { "content-type": "text/event-stream" } });
const inEvent = (text: string) => utf8(`event: message\ndata: ${text}\n\n`);
