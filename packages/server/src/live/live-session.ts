import type { Principal } from "@durable-mcp/core";
import { inTime } from "../base/in-time.ts";
import { createQueue } from "../base/queue.ts";
import { randomName } from "../base/session-id.ts";
import { isRequest } from "../base/json-rpc.ts";
import type { RequestId } from "../base/mcp-types.ts";
import type { Reply } from "../base/reply.ts";
import { newestOf } from "../records/session-record.ts";
import type { FoundRow, StoredSession } from "../records/stored-session.ts";
import { sessionEventIds } from "../streams/event-id.ts";
import { canPrime } from "../streams/priming.ts";
import { type Admission, createRoom } from "../calls/admission.ts";
import { createBusy, createCallWatch } from "../calls/call-watch.ts";
import { createCloseCallbacks } from "../author/close-callbacks.ts";
import type { HandlerContext, LiveContext } from "../context/handler-context.ts";
import { type CheckContent, mayAsk, replaceLegacyShim } from "../asked/legacy-shim.ts";
import { createMessageExtra } from "../author/message-extra.ts";
import { createTakeAnswer, type TakeAnswer } from "../calls/take-answer.ts";
import { createRepeatedPosts } from "../calls/repeated-posts.ts";
import type { ClientPost } from "../calls/posted-call.ts";
import { withRequestState } from "../author/request-state-codec.ts";
import { runningCall } from "../context/running-call.ts";
import { createServerLink, type ServerLink } from "../author/server-link.ts";
import {
  clientOfSession,
  type ConnectableServer,
  createServerSession,
} from "../author/server-session.ts";
import { createSessionCalls } from "../calls/session-calls.ts";
import {
  chooseFormat,
  type ResponseFormat,
  type SessionHandlerOptions,
} from "../author/session-handler-options.ts";
import { createSessionHandshake, type SessionHandshake } from "./session-handshake.ts";
import { createSessionStates } from "../context/session-state.ts";
import { createToldSettings } from "./told-settings.ts";
import { createSessionTasks } from "../session-tasks/session-tasks.ts";
import { scopeOf } from "../context/task-scope.ts";

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
// oxlint-disable-next-line max-lines-per-function -- its state, and functions of a few lines each
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
  const callbacks = createCloseCallbacks(handler.emit);
  const states = await createSessionStates(context, options, principal);
  const onBusy = createBusy((isBusy) => watch(isBusy));
  const calls = createSessionCalls(context, {
    editOf: (...args) => told.editOf(...args),
    onBusy: (isBusy) => onBusy("calls", isBusy),
  });
  const scope = await scopeOf(found, principal);
  let tasks: ReturnType<typeof createSessionTasks> | undefined; // Most servers have none.
  const createTasks = () =>
    createSessionTasks({
      ...context,
      ...{ hash: found.hash, owner: found.record.owner, scope },
      callOf: () => runningCall.getStore()?.state,
      holdCall: calls.holdRunning,
      answer: calls.answer,
      receive: (message) => link.receive(message),
      onBusy: (isBusy) => onBusy("tasks", isBusy),
    });
  const { serverMs } = handler.settings.timeouts;
  const link: ServerLink = createServerLink(context, serverMs, {
    onRequest: (request, dispatch) => {
      const state = calls.of(request.id)?.state;
      runningCall.run({ session: states.access, state, request }, dispatch);
    },
    onAnswer: calls.answer,
    onRelated: calls.related,
    onStandalone: (message) => context.standalone.append(stored, message),
    onSettled: (question) => tasks?.settled(question),
    onCancelled: calls.cancel,
    onClosed: () => {
      if (!closing.signal.aborted) onGone();
    },
  });
  const told = createToldSettings(stored, link.inject);
  const watch = createCallWatch(context, {
    receive: link.receive,
    cancelledElsewhere: calls.cancelledElsewhere,
    lookAtTasks: async () => await tasks?.look(),
    onGone,
  });
  const session = createServerSession(
    clientOfSession(stored),
    states.access,
    () => (tasks ??= createTasks()).access,
  );
  let check: CheckContent | undefined;
  const build = async () => {
    const given = { session, principal, onClose: callbacks.add, tasks: {} };
    const built = await options.createServer(
      withRequestState(given, {
        ...{ settings: handler.settings, keys: options.keys, principal },
        running: () => states.running()?.request,
      }),
    );
    check = replaceLegacyShim(built, { roundsOf: calls.roundsOf, onRaised: calls.raise });
    if (!check && mayAsk(built)) handler.tellNotStored();
    await connect(built, link);
    return built;
  };
  const server = await callbacks.unlessItFails(() => {
    const late = `createServer took longer than timeouts.serverMs (${serverMs}).`;
    return inTime(build(), serverMs, late, (built) => built.close());
  });
  const repeats = createRepeatedPosts(context);
  const inTurn = createQueue();
  const onFailed = (error: unknown) => handler.emit({ type: "failed", error });
  const room = createRoom(context.settings.limits.requestsPerSession, calls.count);
  const canHangUp = context.format === "sse" && canPrime(found.record.initialize.protocolVersion);

  async function post(given: ClientPost) {
    const { request, messages, requests, isBatch, authInfo, admission } = given;
    const arrival = repeats.arrive(requests, given.text);
    if (arrival?.earlier && (await arrival.own.digest) === (await arrival.earlier.digest)) {
      return await repeats.replyOf(arrival.earlier);
    }
    const remembering = told.rememberInitialized(messages);
    if (remembering) await remembering;
    const beginning = states.begin(requests);
    const requestStates = beginning instanceof Promise ? await beginning : beginning;
    // A closed server takes no message, and says nothing.
    if (closing.signal.aborted) return undefined;
    const begun = { requests, isBatch, states: requestStates };
    const call = requests.length > 0 ? calls.begin(begun) : undefined;
    if (requests.length > 0 && !call) return undefined;
    if (arrival) arrival.own.call = call;
    admission.begin(requests.length);
    const hangUp = call && canHangUp ? call.hangUp : undefined;
    for (const message of messages) {
      const refusal = isRequest(message) ? calls.of(message.id)?.state.refusal : undefined;
      if (refusal) {
        void calls.answer(refusal.id!, refusal);
        continue;
      }
      const ends = isRequest(message) ? { hangUp, hangUpListening } : {};
      link.receive(message, createMessageExtra(request, authInfo, ends));
    }
    return call ? await call.reply : { status: 202, headers: {} };
  }

  const takeAnswer = createTakeAnswer(context, {
    ...{ calls, receive: link.receive, check: () => check },
    begin: (requests) => states.begin(requests),
  });

  return {
    ...{ instance: context.instance, stored, format: context.format, closed: closing.signal },
    listening: () => listening.signal,
    messagesInFlight: room.taken,
    runningTasks: () => tasks?.count() ?? 0,
    admit: room.admit,
    isServing: calls.has,
    cancelElsewhere: async (requestIds) => {
      await stored.write({
        edit: (record) => {
          const change = record.changes + 1;
          const added = requestIds.map((id) => ({ id, change }));
          return { ...record, cancelled: newestOf([...(record.cancelled ?? []), ...added]) };
        },
      });
      context.signals.send(context.topic);
    },
    handshake: createSessionHandshake(stored, link.inject),
    follow: (newest) => {
      if (newest.revision === stored.revision && told.isCurrent(stored.record)) return undefined;
      stored.see(newest);
      return inTurn(() => told.tell(stored.record));
    },
    post,
    takeAnswer,
    close: async () => {
      closing.abort();
      watch(false);
      context.mailbox.forget(found.hash, context.instance);
      await Promise.all([calls.close(), tasks?.close()]);
      const late = `The server took longer than timeouts.serverMs (${serverMs}) to close.`;
      const closed = server
        .close()
        .catch(onFailed)
        .then(() => callbacks.run());
      await inTime(closed, serverMs, late).catch(onFailed);
    },
  };
}

async function connect(server: ConnectableServer, link: ServerLink): Promise<void> {
  try {
    await server.connect(link.transport);
  } catch (error) {
    await server.close().catch(() => {});
    throw error;
  }
}
