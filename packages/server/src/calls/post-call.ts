import { maxBatch } from "@durable-mcp/core/internal";
import type { StoreBatchWrite } from "@durable-mcp/core";
import { createQueue } from "../base/queue.ts";
import type { Answer, JSONRPCMessage, JSONRPCRequest, RequestId } from "../base/mcp-types.ts";
import type { CallHold } from "../records/replica.ts";
import { createAnswerStream } from "../streams/answer-stream.ts";
import type { SessionRecord } from "../records/session-record.ts";
import { questionKey } from "../records/stored-question.ts";
import { answerKey, type CallLog, createCallLog, type LoggedEvent } from "../streams/call-log.ts";
import { streamHeaders } from "../streams/event-stream-answer.ts";
import { type CallName, callKey, type MakeEventId } from "../streams/event-id.ts";
import { canPrime } from "../streams/priming.ts";
import { endUnanswered } from "../asked/asked-calls.ts";
import { jsonCall } from "./json-call.ts";
import type { PostCall, PostCallOptions } from "./posted-call.ts";
import { followAnswers } from "./follow-answers.ts";
import type { LiveContext } from "../context/handler-context.ts";
import type { RaisedQuestions } from "../asked/legacy-shim.ts";
import { failedQuestion } from "../asked/question-ids.ts";
import { forgottenAnswer, repeatedAnswer } from "./repeated-posts.ts";
import { type CallEffects, settleCall } from "./settle-call.ts";
import { prepareAsking } from "./stored-asking.ts";

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

// oxlint-disable-next-line max-lines-per-function -- its state, and functions of a few lines each
function streamedCall(
  context: LiveContext,
  { requests, isBatch, claimed, number, keep, spare }: PostCallOptions,
): Omit<PostCall, "change"> {
  const { stored, sessionId, instance, replica, settings } = context;
  const { owner, protocolVersion } = stored.record;
  const requestIds = requests.map(({ id }) => id);
  const open = new Set(requestIds);
  const key = claimed?.call ?? callKey({ instance, number });
  const parts = claimed?.record.parts ?? 0;
  const log = createCallLog(context, { hash: stored.hash, call: key, owner, parts });
  const isPrimed = canPrime(protocolVersion);
  let last = claimed?.record.place ?? 0;
  let held: CallHold | undefined = claimed?.hold;
  /** Whether a message has preceded the answer: the client can come back for the rest. */
  let isBegun = claimed !== undefined;
  let isStored = false;
  /** While an answer of a batch is stored, the messages that came since: they follow it. */
  let later: JSONRPCMessage[] | undefined;

  let callName: CallName | undefined;
  let naming: ReturnType<typeof makeEventIds> | undefined;

  function name(renewals: number): MakeEventId {
    callName = { instance, number, replica: replica.token, renewals, requestIds };
    return context.eventIds.of(callName);
  }

  const eventIds = () => (naming ??= makeEventIds());

  function makeEventIds(): MakeEventId | undefined | Promise<MakeEventId | undefined> {
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

  const stream = createAnswerStream({ timeouts: settings.timeouts, isPrimed, eventIds });
  // Whoever has the client's stream reads what this one stores.
  if (claimed) stream.end();

  async function answer({ id }: JSONRPCRequest, message: Answer, effects: () => CallEffects) {
    if (!open.has(id)) return;
    const isLast = open.size === 1;
    last += 1;
    const place = last;
    later = [];
    // Without an event id no client comes back, and nothing has to be stored.
    const canResume = isPrimed || isBegun || !isLast;
    isStored = canResume;
    const evicted = canResume && isLast ? keep(log) : [];
    if (canResume) await log.settled();
    const { text } = await settleCall(context, id, message, effects, (given) => {
      if (!canResume) return { rows: [] };
      const event = { place, ...given };
      if (!isLast) return { rows: log.chunk(event) };
      return {
        rows: [...log.finish(event, evicted), ...forgetQuestion()],
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
    release();
  }

  /** The process has nothing to do with the call any more, and its stored stream has changed. */
  function release(): void {
    held?.release();
    context.signals.wake(answerKey(context, stored.hash, key));
    if (claimed) context.signals.send(context.topic);
  }

  function forgetQuestion(): StoreBatchWrite[] {
    if (!claimed) return [];
    const { round } = claimed.record;
    return [{ type: "delete", key: questionKey(context, stored.hash, key, round) }];
  }

  async function ask(request: JSONRPCRequest, raised: RaisedQuestions, effects: () => CallEffects) {
    if (!open.has(request.id)) return;
    await log.settled();
    const asking = prepareAsking(context, {
      call: key,
      claimed,
      request,
      raised,
      place: last,
      log,
    });
    const { events, until, refusal } = asking;
    if (refusal !== undefined)
      return await answer(request, failedQuestion(request, refusal), effects);
    last += events.length;
    const asked: Answer = { jsonrpc: "2.0", id: request.id, result: {} };
    const noted = () => {
      const { edit, state } = effects();
      return { edit: (record: SessionRecord) => asking.edit(edit?.(record) ?? record), state };
    };
    const { message, text } = await settleCall(context, request.id, asked, noted, (given) => {
      if (given.message === asked) return { rows: asking.rows() };
      return {
        rows: [...log.finish({ place: last + 1, ...given }, []), ...forgetQuestion()],
      };
    });
    open.delete(request.id);
    log.release();
    if (message !== asked) {
      stream.write(last + 1, text, true);
      return release();
    }
    for (const event of events) stream.write(event.place, event.text, false);
    // The store has emitted its failure. What precedes the questions is lost then, as any old message.
    void log.prolong(until).catch(() => {});
    release();
    if (!claimed) void followAnswers(context, stream, { call: callName!, place: last });
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
    hold: async () => {
      if (!(await eventIds()))
        throw new Error("The store could not be asked. Send the request again.");
      const { renewals } = callName!;
      return { replica: replica.token, name: key, renewals, place: last + 1 };
    },
    rounds: async () => {
      if (claimed) return claimed.record.round;
      const canKeep = !isBatch && settings.events.maxEvents > 0 && (await eventIds()) !== undefined;
      return canKeep ? 0 : undefined;
    },
    ask,
    answer,
    cancel: (requestId) => {
      if (!open.delete(requestId) || open.size > 0) return;
      if (claimed) {
        const keys = forgetQuestion().map((row) => row.key);
        void endUnanswered(context, stored, key, keys).catch(() => {});
      }
      release();
      stream.end();
    },
    hangUp: () => stream.end(),
    repeat: async (onEnd) => {
      isBegun = true;
      if ((await eventIds()) && (open.size > 0 || isStored)) {
        return repeatedAnswer(context, callName!, onEnd);
      }
      onEnd();
      return forgottenAnswer(context, requestIds[0]!);
    },
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
  return [...older.forget(), ...log.finish(event, [])].slice(-maxBatch + 1);
}
