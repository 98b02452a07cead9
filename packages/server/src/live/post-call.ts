import type { StoreBatchWrite } from "@durable-mcp/core";
import { createQueue } from "../base/queue.ts";
import type { Answer, JSONRPCMessage, JSONRPCRequest, RequestId } from "../base/mcp-types.ts";
import type { Reply } from "../base/reply.ts";
import type { CallHold } from "../records/replica.ts";
import { createAnswerStream } from "../streams/answer-stream.ts";
import { maxBatch } from "../records/store-key.ts";
import { answerKey, type CallLog, createCallLog, type LoggedEvent } from "../streams/call-log.ts";
import { streamHeaders } from "../streams/event-stream-answer.ts";
import { callKey, type MakeEventId } from "../streams/event-id.ts";
import { canPrime } from "../streams/priming.ts";
import type { LiveContext } from "./handler-context.ts";
import { type CallEffects, settleCall } from "./settle-call.ts";

/** The requests of one POST, from when they reach the server until all are answered or cancelled. */
export interface PostCall {
  /** The session's `changes` when the call began: cancellations before it are for others. */
  readonly change: number;
  readonly reply: Promise<Reply> | Reply;
  /** Sends a message that precedes an answer. */
  related(message: JSONRPCMessage): void;
  /** Stores the effects of a request, and its answer, then sends the answer. Never rejects. */
  answer(request: JSONRPCRequest, message: Answer, effects: () => CallEffects): Promise<void>;
  /** A request gets no answer: its client does not want it any more. */
  cancel(requestId: RequestId): void;
  /** Ends the answer stream; the call goes on, and its client comes back for the answer. */
  readonly hangUp: () => void;
}

export interface PostCallOptions {
  readonly requests: readonly JSONRPCRequest[];
  readonly isBatch: boolean;
  /** Its number among the session's calls here. */
  readonly number: number;
  /** @returns the call whose answer is kept no longer */
  readonly keep: (log: CallLog) => CallLog | undefined;
  /** There is no room to keep the call. @returns the oldest kept one, which is kept in its place no longer */
  readonly spare: (log: CallLog) => CallLog | undefined;
}

/** Answers a POST with one JSON body, or with an SSE stream whose messages are stored. */
export function createPostCall(context: LiveContext, options: PostCallOptions): PostCall {
  const call =
    context.format === "json" ? jsonCall(context, options) : streamedCall(context, options);
  const inTurn = createQueue();
  return {
    ...call,
    change: context.stored.record.changes,
    // The last of several answers ends the stream: it must not overtake another.
    answer: options.isBatch ? (...args) => inTurn(() => call.answer(...args)) : call.answer,
  };
}

function jsonCall(
  context: LiveContext,
  { requests, isBatch }: PostCallOptions,
): Omit<PostCall, "change"> {
  const { promise, resolve } = Promise.withResolvers<Reply>();
  const open = new Set(requests.map(({ id }) => id));
  const texts: string[] = [];
  const settle = (requestId: RequestId, text: string) => {
    if (!open.delete(requestId)) return;
    texts.push(text);
    if (open.size > 0) return;
    const headers = { "Content-Type": "application/json", "Mcp-Session-Id": context.sessionId };
    resolve({ status: 200, headers, body: isBatch ? `[${texts.join(",")}]` : text });
  };
  return {
    reply: promise,
    // The link sends them to the listening stream.
    related: () => {},
    answer: async ({ id }, message, effects) => {
      // A client cannot come back for a JSON answer, so none is stored.
      const { text } = await settleCall(context, id, message, effects, () => ({ rows: [] }));
      settle(id, text);
    },
    cancel: (id) => {
      const error = { code: -32603, message: "The request was cancelled." };
      settle(id, JSON.stringify({ jsonrpc: "2.0", id, error }));
    },
    hangUp: () => {},
  };
}

// oxlint-disable-next-line max-lines-per-function -- its state, and functions of a few lines each
function streamedCall(
  context: LiveContext,
  { requests, number, keep, spare }: PostCallOptions,
): Omit<PostCall, "change"> {
  const { stored, sessionId, instance, replica } = context;
  const { owner, protocolVersion } = stored.record;
  const requestIds = requests.map(({ id }) => id);
  const open = new Set(requestIds);
  const key = callKey({ instance, number });
  const log = createCallLog(context, { hash: stored.hash, call: key, owner });
  const isPrimed = canPrime(protocolVersion);
  let last = 0;
  let held: CallHold | undefined;
  /** Whether a message has preceded the answer: the client can come back for the rest. */
  let isBegun = false;
  /** While an answer of a batch is stored, the messages that came since: they follow it. */
  let later: JSONRPCMessage[] | undefined;

  function name(renewals: number): MakeEventId {
    const call = { instance, number, replica: replica.token, renewals, requestIds };
    return context.eventIds.of(call);
  }

  function eventIds(): MakeEventId | undefined | Promise<MakeEventId | undefined> {
    if (!canBeNamed(requestIds)) return undefined;
    // All answers are stored: whoever asks for them needs no living process.
    if (open.size === 0) return name(0);
    const hold = (given: CallHold) => {
      held = given;
      if (open.size === 0) given.release();
      return name(given.renewals);
    };
    const holding = replica.hold(key);
    // Without a lease the messages go out without ids, and cannot be resumed.
    return holding instanceof Promise ? holding.then(hold, () => undefined) : hold(holding);
  }

  const stream = createAnswerStream({ timeouts: context.settings.timeouts, isPrimed, eventIds });

  async function answer({ id }: JSONRPCRequest, message: Answer, effects: () => CallEffects) {
    if (!open.has(id)) return;
    const isLast = open.size === 1;
    last += 1;
    const place = last;
    later = [];
    // Without an event id no client comes back, and nothing has to be stored.
    const canResume = isPrimed || isBegun || !isLast;
    const evicted = canResume && isLast ? keep(log) : undefined;
    if (canResume) await log.settled();
    const { text } = await settleCall(context, id, message, effects, (given) => {
      if (!canResume) return { rows: [] };
      const event = { place, ...given };
      if (!isLast) return { rows: log.chunk(event) };
      return {
        rows: log.finish(event, evicted),
        lesserRows: () => inPlaceOf(spare(log), log, event),
      };
    });
    open.delete(id);
    isBegun = true;
    // The others may have been cancelled in the meantime.
    const isOver = open.size === 0;
    stream.write(canResume ? place : undefined, text, isOver);
    const waiting = later;
    later = undefined;
    if (!isOver) return waiting.forEach(related);
    log.release();
    held?.release();
    context.signals.wake(answerKey(context, stored.hash, key));
  }

  function related(message: JSONRPCMessage): void {
    if (later) {
      later.push(message);
      return;
    }
    const text = JSON.stringify(message);
    last += 1;
    isBegun = true;
    log.append({ place: last, message, text });
    stream.write(last, text, false);
  }

  return {
    reply: { status: 200, headers: streamHeaders(sessionId), body: stream.body },
    related,
    answer,
    cancel: (requestId) => {
      if (!open.delete(requestId) || open.size > 0) return;
      held?.release();
      stream.end();
    },
    hangUp: () => stream.end(),
  };
}

/** Characters of a batch's request ids, which its event ids hold: a client sends them as a header. */
const maxIdsLength = 1_500;

function canBeNamed(requestIds: readonly RequestId[]): boolean {
  return requestIds.length === 1 || JSON.stringify(requestIds).length <= maxIdsLength;
}

/** In a full store a new answer takes the room of an older one; the first of a session is not kept. */
function inPlaceOf(
  older: CallLog | undefined,
  log: CallLog,
  event: LoggedEvent,
): readonly StoreBatchWrite[] {
  if (!older) return [];
  return [...older.forget(), ...log.finish(event, undefined)].slice(-maxBatch + 1);
}
