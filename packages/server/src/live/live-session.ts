import type { Principal } from "@durable-mcp/core";
import { chooseFormat, type ResponseFormat } from "../author/session-handler-options.ts";
import type { SessionHandlerOptions } from "../author/session-handler-options.ts";
import type { RequestId } from "../base/mcp-types.ts";
import type { Reply } from "../base/reply.ts";
import { randomName } from "../base/session-id.ts";
import { type Admission, createRoom } from "../calls/admission.ts";
import { cancelElsewhere, createBusy, createCallWatch } from "../calls/call-watch.ts";
import type { ClientPost } from "../calls/posted-call.ts";
import { createSessionCalls } from "../calls/session-calls.ts";
import { createTakeAnswer, type TakeAnswer } from "../calls/take-answer.ts";
import type { HandlerContext, LiveContext } from "../context/handler-context.ts";
import type { FoundRow, StoredSession } from "../records/stored-session.ts";
import { sessionEventIds } from "../streams/event-id.ts";
import { createAuthorSide } from "./author-side.ts";
import { createSessionHandshake, type SessionHandshake } from "./session-handshake.ts";
import { createTakePost } from "./take-post.ts";
import { createToldSettings } from "./told-settings.ts";

/** A session that has a server in this process. */
export interface LiveSession {
  readonly instance: string;
  readonly stored: StoredSession;
  readonly format: ResponseFormat;
  /** Ends the waits of the session's calls, and its listening streams in this process. */
  readonly closed: AbortSignal;
  /** Ends the listening streams that are open now. */
  listening(): AbortSignal;
  /** Requests until their answer, other messages until they are handed on. */
  messagesInFlight(): number;
  /** Tasks whose work runs in the server. */
  runningTasks(): number;
  /** `undefined` when so many more would be too many. */
  admit(messages: number): Admission | undefined;
  isServing(requestId: RequestId): boolean;
  /** Cancels requests that may be in flight on another replica. */
  cancelElsewhere(requestIds: readonly RequestId[]): Promise<void>;
  readonly handshake: SessionHandshake;
  /** Brings the server up to a row that was read. A promise only when there is something to do. */
  follow(found: FoundRow): Promise<void> | undefined;
  /** `undefined` when it is closed, or a request with one of the ids is in flight. */
  post(post: ClientPost): Promise<Reply | undefined>;
  readonly takeAnswer: TakeAnswer;
  close(): Promise<void>;
}

export interface LiveSessionOptions {
  readonly sessionId: string;
  readonly found: FoundRow;
  readonly principal: Principal;
  /** The session has ended elsewhere, or the author's code has closed its server. */
  readonly onGone: () => void;
}

/** Builds the author's server for a session and connects it. */
export async function createLiveSession<State extends object>(
  handler: HandlerContext,
  options: SessionHandlerOptions<State>,
  { sessionId, found, principal, onGone }: LiveSessionOptions,
): Promise<LiveSession> {
  const closing = new AbortController();
  const stored = handler.sessions.bind(found);
  const context: LiveContext = {
    ...handler,
    ...{ sessionId, stored, closed: closing.signal },
    topic: handler.topicOf(found.hash),
    instance: randomName(),
    eventIds: await sessionEventIds(sessionId),
    format: chooseFormat(options, found.record),
  };
  let listening = new AbortController();
  const hangUpListening = () => {
    listening.abort();
    listening = new AbortController();
  };
  const onBusy = createBusy((isBusy) => watch(isBusy));
  const calls = createSessionCalls(context, {
    editOf: (...args) => told.editOf(...args),
    onBusy: (isBusy) => onBusy("calls", isBusy),
  });
  const author = await createAuthorSide(context, options, {
    ...{ principal, calls, onGone },
    onBusy: (isBusy) => onBusy("tasks", isBusy),
  });
  const { link, states } = author;
  const told = createToldSettings(stored, link.inject);
  const watch = createCallWatch(context, {
    receive: link.receive,
    cancelledElsewhere: calls.cancelledElsewhere,
    lookAtTasks: async () => await author.tasks()?.look(),
    onGone,
  });
  await author.open();
  const room = createRoom(context.settings.limits.requestsPerSession, calls.count);
  const takeAnswer = createTakeAnswer(context, {
    ...{ calls, receive: link.receive, check: author.check },
    begin: (requests) => states.begin(requests),
  });

  return {
    ...{ instance: context.instance, stored, format: context.format, closed: closing.signal },
    listening: () => listening.signal,
    messagesInFlight: room.taken,
    runningTasks: () => author.tasks()?.count() ?? 0,
    admit: room.admit,
    isServing: calls.has,
    cancelElsewhere: (requestIds) => cancelElsewhere(context, requestIds),
    handshake: createSessionHandshake(stored, link.inject),
    follow: told.follow,
    post: createTakePost(context, { calls, told, states, link, hangUpListening }),
    takeAnswer,
    close: async () => {
      closing.abort();
      watch(false);
      context.mailbox.forget(found.hash, context.instance);
      await Promise.all([calls.close(), author.tasks()?.close()]);
      await author.close();
    },
  };
}
