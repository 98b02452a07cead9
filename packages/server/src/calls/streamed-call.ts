import type { StoreBatchWrite } from "@durable-mcp/core";
import { maxBatch } from "@durable-mcp/core/internal";
import type { Answer, JSONRPCMessage, JSONRPCRequest, RequestId } from "../base/mcp-types.ts";
import type { LiveContext } from "../context/handler-context.ts";
import { questionKey } from "../records/stored-question.ts";
import { type AnswerStream, createAnswerStream } from "../streams/answer-stream.ts";
import { type CallLog, createCallLog, type LoggedEvent } from "../streams/call-log.ts";
import { answerKey } from "../streams/call-record.ts";
import { canPrime } from "../streams/priming.ts";
import { type CallNaming, createCallName } from "./call-name.ts";
import type { PostCallOptions } from "./posted-call.ts";
import { type CallEffects, settleCall } from "./settle-call.ts";

/** A call whose messages are stored, while it runs here. */
export interface StreamedCall {
  readonly context: LiveContext;
  readonly options: PostCallOptions;
  readonly name: CallNaming;
  readonly log: CallLog;
  readonly stream: AnswerStream;
  /** The client understands an event without data. */
  readonly isPrimed: boolean;
  /** The requests that are not answered. */
  readonly open: Set<RequestId>;
  /** The last place of its stream so far. */
  last: number;
  /** Whether a message has preceded the answer: the client can come back for the rest. */
  isBegun: boolean;
  /** Whether its answer is stored. */
  isStored: boolean;
  /** While an answer of a batch is stored, the messages that came since: they follow it. */
  later: JSONRPCMessage[] | undefined;
}

export function beginCall(context: LiveContext, options: PostCallOptions): StreamedCall {
  const { claimed } = options;
  const { hash, record } = context.stored;
  const open = new Set(options.requests.map(({ id }) => id));
  const name = createCallName(context, options, () => open.size === 0);
  const parts = claimed?.record.parts ?? 0;
  const log = createCallLog(context, { hash, call: name.key, owner: record.owner, parts });
  const isPrimed = canPrime(record.protocolVersion);
  const { timeouts } = context.settings;
  const stream = createAnswerStream({ timeouts, isPrimed, eventIds: name.eventIds });
  // Whoever has the client's stream reads what this one stores.
  if (claimed) stream.end();
  return {
    ...{ context, options, name, log, stream, isPrimed, open },
    last: claimed?.record.place ?? 0,
    isBegun: claimed !== undefined,
    isStored: false,
    later: undefined,
  };
}

/** Sends a message that precedes an answer. */
export function related(call: StreamedCall, message: JSONRPCMessage): void {
  if (call.later) {
    call.later.push(message);
    return;
  }
  const text = JSON.stringify(message);
  call.last += 1;
  call.isBegun = true;
  call.log.append({ place: call.last, message, text });
  call.stream.write(call.last, text, false);
}

/** Stores the effects of a request, and its answer, then sends the answer. */
export async function answer(
  call: StreamedCall,
  { id }: JSONRPCRequest,
  message: Answer,
  effects: () => CallEffects,
): Promise<void> {
  const { context, options, log, open } = call;
  if (!open.has(id)) return;
  const isLast = open.size === 1;
  call.last += 1;
  const place = call.last;
  call.later = [];
  // Without an event id no client comes back, and nothing has to be stored.
  const canResume = call.isPrimed || call.isBegun || !isLast;
  call.isStored = canResume;
  const evicted = canResume && isLast ? options.keep(log) : [];
  if (canResume) await log.settled();
  const { text } = await settleCall(context, id, message, effects, (given) => {
    if (!canResume) return { rows: [] };
    const event = { place, ...given };
    if (!isLast) return { rows: log.chunk(event) };
    return {
      rows: [...log.finish(event, evicted), ...forgetQuestion(call)],
      lesserRows: () => inPlaceOf(options.spare(log), log, event),
    };
  });
  open.delete(id);
  call.isBegun = true;
  // The others may have been cancelled in the meantime.
  const isOver = open.size === 0;
  call.stream.write(canResume ? place : undefined, text, isOver);
  const waiting = call.later;
  call.later = undefined;
  if (!isOver) return waiting.forEach((each) => related(call, each));
  log.release();
  release(call);
}

/** The process has nothing to do with the call any more, and its stored stream has changed. */
export function release({ context, options, name }: StreamedCall): void {
  name.release();
  context.signals.wake(answerKey(context, context.stored.hash, name.key));
  if (options.claimed) context.signals.send(context.topic);
}

export function forgetQuestion({ context, options, name }: StreamedCall): StoreBatchWrite[] {
  if (!options.claimed) return [];
  const { round } = options.claimed.record;
  return [{ type: "delete", key: questionKey(context, context.stored.hash, name.key, round) }];
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
