import type { Principal } from "@durable-mcp/core";
import { chooseFormat, type SessionHandlerOptions } from "../author/session-handler-options.ts";
import type { Answer, MessageExtra, RequestId } from "../base/mcp-types.ts";
import { randomName } from "../base/session-id.ts";
import { createRoom } from "../calls/admission.ts";
import { cancelElsewhere, createBusy, createCallWatch } from "../calls/call-watch.ts";
import { createSessionCalls } from "../calls/session-calls.ts";
import { createTakeAnswer } from "../calls/take-answer.ts";
import type { HandlerContext, LiveContext } from "../context/handler-context.ts";
import type { FoundRow } from "../records/stored-session.ts";
import { sessionEventIds } from "../streams/event-id.ts";
import { createAuthorSide } from "./author-side.ts";
import { createTakePost } from "./take-post.ts";
import { createToldSettings } from "./told-settings.ts";

interface LiveSessionOptions {
  readonly sessionId: string;
  readonly found: FoundRow;
  readonly principal: Principal;
  /** The session has ended elsewhere, or the author's code has closed its server. */
  readonly onGone: () => void;
}

/** A session that has a server in this process. Builds the author's server and connects it. */
export async function createLiveSession<State extends object>(
  handler: HandlerContext,
  options: SessionHandlerOptions<State>,
  { sessionId, found, principal, onGone }: LiveSessionOptions,
) {
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
  const initialize = (params: object, extra: MessageExtra) =>
    link.inject({ method: "initialize", params, id: "answered", extra });

  return {
    ...{ instance: context.instance, stored, format: context.format },
    /** Ends the waits of the session's calls, and its listening streams in this process. */
    closed: closing.signal,
    /** Ends the listening streams that are open now. */
    listening: () => listening.signal,
    /** Requests until their answer, other messages until they are handed on. */
    messagesInFlight: room.taken,
    /** Tasks whose work runs in the server. */
    runningTasks: () => author.tasks()?.count() ?? 0,
    admit: room.admit,
    isServing: calls.has,
    cancelElsewhere: (requestIds: readonly RequestId[]) => cancelElsewhere(context, requestIds),
    /** Initializes a new session's server. `undefined` when it was closed meanwhile. */
    start: (extra: MessageExtra) => initialize(stored.record.initialize, extra),
    /** Initializes the server again. @returns the revision that the server negotiated */
    replay: async (): Promise<string | undefined> => {
      const { protocolVersion } = stored.record;
      const params = { ...stored.record.initialize, protocolVersion };
      return negotiatedVersion(await initialize(params, {}));
    },
    follow: told.follow,
    post: createTakePost(context, { calls, told, states, link, hangUpListening }),
    takeAnswer: createTakeAnswer(context, {
      ...{ calls, receive: link.receive, check: author.check },
      begin: (requests) => states.begin(requests),
    }),
    close: async (): Promise<void> => {
      closing.abort();
      watch(false);
      context.mailbox.forget(found.hash, context.instance);
      await Promise.all([calls.close(), author.tasks()?.close()]);
      await author.close();
    },
  };
}

export type LiveSession = Awaited<ReturnType<typeof createLiveSession>>;

/** `undefined` when the server refused. */
export function negotiatedVersion(answer: Answer | undefined): string | undefined {
  const version = answer && "result" in answer ? answer.result["protocolVersion"] : undefined;
  return typeof version === "string" ? version : undefined;
}
