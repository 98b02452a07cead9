import type { StoreBatchWrite } from "@durable-mcp/core";
import type { Answer, JSONRPCMessage, JSONRPCRequest } from "../base/mcp-types.ts";
import { type SessionRecord, waitingCalls } from "../records/session-record.ts";
import { newQuestionRow, questionKey, type QuestionRecord } from "../records/stored-question.ts";
import type { LoggedEvent } from "../streams/call-log.ts";
import type { LiveContext } from "../context/handler-context.ts";
import type { RaisedQuestions } from "../asked/legacy-shim.ts";
import { failedQuestion, questionId } from "../asked/question-ids.ts";
import { followAnswers } from "./follow-answers.ts";
import { type CallEffects, settleCall } from "./settle-call.ts";
import { answer, forgetQuestion, release, type StreamedCall } from "./streamed-call.ts";

/** Stores the effects of a request, and its questions, then sends them. */
export async function ask(
  call: StreamedCall,
  request: JSONRPCRequest,
  raised: RaisedQuestions,
  effects: () => CallEffects,
): Promise<void> {
  const { context, name, log, stream, open } = call;
  const { claimed } = call.options;
  if (!open.has(request.id)) return;
  await log.settled();
  const asking = prepareAsking(call, request, raised);
  const { events, until, refusal } = asking;
  if (refusal !== undefined)
    return await answer(call, request, failedQuestion(request, refusal), effects);
  call.last += events.length;
  const asked: Answer = { jsonrpc: "2.0", id: request.id, result: {} };
  const noted = () => {
    const { edit, state } = effects();
    return { edit: (record: SessionRecord) => asking.edit(edit?.(record) ?? record), state };
  };
  const { message, text } = await settleCall(context, request.id, asked, noted, (given) => {
    if (given.message === asked) return { rows: asking.rows() };
    return {
      rows: [...log.finish({ place: call.last + 1, ...given }, []), ...forgetQuestion(call)],
    };
  });
  open.delete(request.id);
  log.release();
  if (message !== asked) {
    stream.write(call.last + 1, text, true);
    return release(call);
  }
  for (const event of events) stream.write(event.place, event.text, false);
  // The store has emitted its failure. What precedes the questions is lost then, as any old message.
  void log.prolong(until).catch(() => {});
  release(call);
  if (!claimed) void followAnswers(context, stream, { call: name.get(), place: call.last });
}

/** Questions on their way into the store, and to the client. */
interface StoredAsking {
  /** They cannot be kept: why, and what to change. */
  readonly refusal: string | undefined;
  readonly events: readonly LoggedEvent[];
  /** When nobody waits any more. */
  readonly until: number;
  readonly rows: () => readonly StoreBatchWrite[];
  /** Notes in the session that the call waits. */
  readonly edit: (session: SessionRecord) => SessionRecord;
}

/** The questions of a call, as they are stored for whichever replica gets the answers. */
function prepareAsking(
  { context, options: { claimed }, name, log, last: place }: StreamedCall,
  request: JSONRPCRequest,
  raised: RaisedQuestions,
): StoredAsking {
  const { settings, stored } = context;
  const call = name.key;
  const { createdAt, owner } = stored.record;
  const { questionMs, absoluteMs } = settings.timeouts;
  const until = Math.min(settings.now() + questionMs, createdAt + absoluteMs);
  const round = (claimed?.record.round ?? 0) + 1;
  const events = raised.questions.map(({ method, params }, index): LoggedEvent => {
    const id = questionId({ call, round, index });
    const message: JSONRPCMessage = { jsonrpc: "2.0", id, method, ...(params && { params }) };
    return { place: place + index + 1, message, text: JSON.stringify(message) };
  });
  const record: Omit<QuestionRecord, "parts"> = {
    version: 1,
    requestId: request.id,
    method: request.method,
    // Those of a call that was made again have answers in them.
    params: claimed?.record.params ?? request.params ?? {},
    ...raised,
    questions: [...raised.questions],
    ...{ round, until, place: place + events.length },
  };
  return {
    ...{ events, until },
    refusal: refusalOf(context, call, record),
    rows: () => {
      // In this order: the log counts its parts as it makes them.
      const messages = log.ask(events, until);
      const asked = { hash: stored.hash, call, owner };
      const row = newQuestionRow(context, asked, { ...record, parts: log.parts() });
      if (!claimed) return [row, ...messages];
      const before = questionKey(context, stored.hash, call, round - 1);
      return [row, ...messages, { type: "delete", key: before }];
    },
    edit: (session) => {
      const others = waitingCalls(session, settings.now()).filter((other) => other.call !== call);
      return { ...session, questions: [...others, { call, id: request.id, until }] };
    },
  };
}

function refusalOf(
  { settings, stored }: LiveContext,
  call: string,
  record: Omit<QuestionRecord, "parts">,
): string | undefined {
  const { events, limits, now } = settings;
  const others = waitingCalls(stored.record, now()).filter((other) => other.call !== call);
  if (others.length >= limits.requestsPerSession) {
    return `Too many calls of this session wait for an answer (limits.requestsPerSession: ${limits.requestsPerSession}). Answer one.`;
  }
  if (record.questions.length > events.maxEvents) {
    return `The call asks more questions at once than events.maxEvents (${events.maxEvents}) keeps.`;
  }
  if (JSON.stringify(record).length <= events.maxLength) return undefined;
  return `The call with its questions and its state takes more than events.maxLength (${events.maxLength}) characters, so it cannot wait for an answer.`;
}
