/*
 * The life of a call of a client with a session, until its client has an answer:
 *
 *     under-way → late → taken → untold → over
 *
 * It is late when its time in the step is up, taken while what takes the place of its answer is written, and untold
 * until its client has that, for a stream may break. It is over at once with an answer of the server that its client
 * gets as it is, and if its client leaves it and nobody would find its answer.
 */

import { lastEventIdHeader } from "../../answer/resume-stream.ts";
import { onAbort, startLimit } from "../../base/bounded-wait.ts";
import { utf8 } from "../../wire/byte-parts.ts";
import { createEventSplitter, type EventBytes, eventText } from "../../wire/event-splitter.ts";
import { type JsonRpcMessage, type JsonRpcRequest, parseMessage } from "../../wire/json-rpc.ts";
import type { OutgoingRequest } from "../../wire/server-endpoint.ts";
import { complete, textFor } from "../legs/answer-edits.ts";
import type { CallInStep } from "./call-in-step.ts";
import { saysUnheard } from "../claims/cannot-wait.ts";
import type { HeldStream } from "../record/held.ts";
import { askedIn } from "../legs/held-request.ts";
import { type LegOutcome, openOutcome } from "../legs/send-leg.ts";
import { streamPauseMs } from "../legs/stream.ts";
import { waitingCallOf, withoutMarks } from "../record/waiting-call.ts";
import { isFor, type WaitingContext } from "../claims/waiting-context.ts";
import type { WaitingAnswer } from "../record/waiting-record.ts";

/** What is known of a call from its start. */
export interface SentCall {
  readonly call: CallInStep;
  readonly message: JsonRpcRequest;
  readonly request: OutgoingRequest;
  readonly fail: ((error: unknown) => void) | undefined;
  /** Has its task be left. */
  readonly leaveTask: () => void;
  /** Whether the server was told to stop it: nobody finds its answer. */
  readonly isCancelled: () => boolean;
  /** It goes on without its client. */
  readonly onLeft: () => void;
  readonly onOver: () => void;
}

/** A call, and what its life has made of it. */
export interface CallUnderWay extends SentCall {
  readonly context: WaitingContext;
  state: "under-way" | "late" | "taken" | "untold" | "over";
  /** The last event of the stream; "" before the first with an id. */
  eventId: string;
  /** What takes the place of its answer. What else comes on its stream is for whoever looks next. */
  taking?: Promise<string>;
  /** Ends the stream of its client with an answer; not there between two streams. */
  tell?: ((text: string) => void) | undefined;
  /** Its time, and its client's signal, do nothing any more. */
  stop: () => void;
}

/** A call that is sent now. */
export function startCall(context: WaitingContext, sent: SentCall): CallUnderWay {
  const { call, request } = sent;
  const each: CallUnderWay = {
    ...{ context, ...sent, state: "under-way", eventId: "" },
    stop() {
      stopTimer();
      stopListening();
    },
  };
  const stopTimer = startLimit(call.until - context.now(), () => void becomesLate(each), true);
  const stopListening = onAbort(request.signal, () => {
    if (canBeLeft(each) && !call.isStopped()) void leave(each);
    else endCall(each);
  });
  return each;
}

export function endCall(each: CallUnderWay): void {
  each.stop();
  each.state = "over";
  each.onOver();
}

const isUnderWay = ({ state }: CallUnderWay) => state === "under-way" || state === "late";

/** Whether any process finds its answer. */
const canBeLeft = ({ eventId, context }: CallUnderWay) =>
  eventId !== "" && isFor(context, "stream");

/** Whether it is to be left as soon as it can be. */
const isDue = (each: CallUnderWay) => each.state === "late" && canBeLeft(each);

const heldOf = ({ message, eventId }: CallUnderWay): HeldStream => ({
  ...{ type: "stream", requestId: message.id, eventId },
});

/** @returns what the client gets for a call that is not over, or its end */
export async function answerTo(each: CallUnderWay, outcome?: LegOutcome): Promise<WaitingAnswer> {
  const { call } = each;
  each.stop();
  each.state = "taken";
  const answering = outcome ? call.take(outcome) : call.park(heldOf(each), streamPauseMs);
  const answer = await answering.finally(() => (each.state = "untold"));
  if (waitingCallOf(answer.result)) each.onLeft();
  return answer;
}

const take = (each: CallUnderWay, outcome?: LegOutcome): Promise<string> =>
  (each.taking = textFor(each.message.id, () => answerTo(each, outcome), each.fail));

async function becomesLate(each: CallUnderWay): Promise<void> {
  each.state = "late";
  if (!canBeLeft(each)) return each.call.cannotWait("no-event-id");
  if (each.tell === undefined) return;
  const text = await take(each);
  each.tell?.(text);
}

/** A client has left its call. @returns what it would get */
function leave(each: CallUnderWay): Promise<string> {
  // Before the client says that it has left.
  each.onLeft();
  const taking = take(each);
  each.context.track?.(taking);
  return taking;
}

/** A client says that it has left a call. @returns whether its server goes on with it */
export function leaveOnCancel(each: CallUnderWay): boolean {
  if (each.call.isStopped()) return false;
  if (each.state === "taken") each.leaveTask();
  else if (canBeLeft(each)) void leave(each).then(each.tell);
  else return false;
  return true;
}

/** What takes the place of the answer where a client asks for the rest of the stream; `undefined` for the rest. */
export const inPlaceOfRest = (each: CallUnderWay): Promise<string> | undefined =>
  each.taking ?? (isDue(each) ? take(each) : undefined);

/** What the messages of a chunk say of a call; `undefined` if its client gets them as they are. */
function outcomeIn(
  each: CallUnderWay,
  messages: readonly JsonRpcMessage[],
): LegOutcome | undefined {
  const { call, message, context } = each;
  const isAsked = isFor(context, "question");
  for (const answer of messages) {
    if ("method" in answer || answer.id !== message.id) continue;
    if (saysUnheard(answer)) call.cannotWait("unheard");
    const own = openOutcome(answer, isAsked);
    const outcome =
      own ?? (call.isRecorded ? complete(answer, withoutMarks(answer.result)) : undefined);
    if (outcome === undefined) endCall(each);
    return outcome;
  }
  const asked = isAsked ? messages.map(askedIn).filter((one) => one !== undefined) : [];
  if (asked.length === 0) return undefined;
  if (each.eventId === "") {
    call.cannotWait("no-event-id");
    return undefined;
  }
  const requests = Object.fromEntries(asked.flatMap((one) => Object.entries(one.requests)));
  return { type: "asks", question: { requests, held: heldOf(each) } };
}

/** What a chunk of its stream says of a call. It is noted how another process finds the call. */
async function read(each: CallUnderWay, arrived: readonly EventBytes[], lastEventId = "") {
  const isUsable = !each.isCancelled() && lastEventIdHeader(lastEventId) !== undefined;
  const isFirstId = each.eventId === "" && isUsable;
  if (isUsable) each.eventId = lastEventId;
  const messages = arrived.map((event) => parseMessage(eventText(event)));
  const outcome = outcomeIn(
    each,
    messages.filter((message) => message !== undefined),
  );
  // What comes with an outcome does not come again.
  if (isFirstId && !outcome) await each.call.noteHeld(heldOf(each));
  return outcome;
}

/** The stream of a call for its client, until something takes the place of the rest. */
export function watch(each: CallUnderWay, response: Response): Response {
  const { status, statusText, headers, body } = response;
  const splitter = createEventSplitter();
  const isTold = () => {
    each.tell = undefined;
    if (each.state === "untold") endCall(each);
  };
  const events = new TransformStream<Uint8Array, Uint8Array>({
    start(own) {
      each.tell = (text) => {
        each.tell = undefined;
        try {
          own.enqueue(inEvent(text));
          own.terminate();
          isTold();
        } catch {
          // Its client has left meanwhile.
        }
      };
    },
    async transform(chunk, own) {
      const arrived = splitter.push(chunk);
      const outcome = isUnderWay(each)
        ? await read(each, arrived, splitter.lastEventId)
        : undefined;
      if (each.taking) return;
      if (outcome ?? isDue(each)) return each.tell?.(await take(each, outcome));
      for (const part of arrived.flatMap(({ parts }) => parts)) own.enqueue(part);
    },
    async flush(own) {
      const text = await each.taking;
      if (text !== undefined && each.tell) own.enqueue(inEvent(text));
      isTold();
      if (text !== undefined) return;
      for (const part of splitter.finish()?.parts ?? []) own.enqueue(part);
    },
  });
  return new Response(body!.pipeThrough(events), { status, statusText, headers });
}

export const inEvent = (text: string) => utf8(`event: message\ndata: ${text}\n\n`);
