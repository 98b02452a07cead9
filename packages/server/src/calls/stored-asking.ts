import type { StoreBatchWrite } from "@durable-mcp/core";
import type { JSONRPCMessage, JSONRPCRequest } from "../base/mcp-types.ts";
import { type SessionRecord, waitingCalls } from "../records/session-record.ts";
import {
  type ClaimedCall,
  newQuestionRow,
  questionKey,
  type QuestionRecord,
} from "../records/stored-question.ts";
import type { CallLog, LoggedEvent } from "../streams/call-log.ts";
import type { LiveContext } from "../context/handler-context.ts";
import type { RaisedQuestions } from "../asked/legacy-shim.ts";
import { questionId } from "../asked/question-ids.ts";

export interface AskingCall {
  readonly call: string;
  /** The call has asked before. */
  readonly claimed: ClaimedCall | undefined;
  readonly request: JSONRPCRequest;
  readonly raised: RaisedQuestions;
  /** The last place of its stream so far. */
  readonly place: number;
  readonly log: CallLog;
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
export function prepareAsking(context: LiveContext, asking: AskingCall): StoredAsking {
  const { settings, stored } = context;
  const { call, claimed, request, raised, place, log } = asking;
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
