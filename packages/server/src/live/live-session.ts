import type { Principal } from "@durable-mcp/core";
import { McpSessionError } from "@durable-mcp/core";
import type { JSONRPCMessage, RequestId } from "@modelcontextprotocol/sdk/types.js";
import { createCallWatch } from "./call-watch.ts";
import { sessionEventIds } from "../streams/event-id.ts";
import type { Mailbox } from "../streams/mailbox.ts";
import type { Replica } from "../records/replica.ts";
import { outcomeUnknown } from "../streams/request-record.ts";
import type { RequestLog } from "../streams/request-log.ts";
import { type Answer, createServerLink } from "./server-link.ts";
import { createSharedState, type OnStateConflict } from "../state/shared-state.ts";
import type { EmitServerEvent } from "../base/server-event.ts";
import { type AnswerKind, type CreateServer, createServerSession } from "./server-session.ts";
import { createSessionCalls } from "./session-calls.ts";
import { fingerprint, randomName } from "../base/session-id.ts";
import type { StandaloneStreams } from "../streams/standalone-stream.ts";
import type { StoredSession } from "../records/stored-session.ts";
import { type ClientPost, createSessionTransport } from "./session-transport.ts";
import { createToldSettings } from "./told-settings.ts";
import type { Waker } from "../streams/waker.ts";

export interface LiveSessionOptions<State extends object> {
  readonly sessionId: string;
  readonly hash: string;
  readonly stored: StoredSession;
  readonly principal: Principal;
  readonly createServer: CreateServer<State>;
  readonly answers: AnswerKind;
  readonly onStateConflict?: OnStateConflict<State> | undefined;
  readonly maxStateBytes: number;
  readonly keptAnswers: number;
  readonly keepAliveMs: number;
  readonly retryMs: number;
  readonly pollIntervalMs: number;
  readonly log: RequestLog;
  readonly standalone: StandaloneStreams;
  readonly mailbox: Mailbox;
  readonly replica: Replica;
  readonly waker: Waker;
  readonly emit: EmitServerEvent;
  /** The server answered `initialize`: the negotiated revision, or none when it refused. */
  readonly onInitialize: (protocolVersion: string | undefined) => Promise<void>;
  /** The session turned out to have ended elsewhere. */
  readonly onGone: () => void;
}

/** A session that has a server in this process. */
export interface LiveSession {
  readonly instance: string;
  /** Ends the waits of the session's calls, and its listening streams in this process. */
  readonly closed: AbortSignal;
  /** Ends the listening streams that are open now. */
  readonly listening: AbortSignal;
  readonly requestsInFlight: number;
  isServing(requestId: RequestId): boolean;
  /** The first message of a new session. */
  initialize(post: ClientPost): Promise<Response>;
  /** The same from the record. @returns the revision that the server negotiated this time */
  replayInitialize(url: string): Promise<string | undefined>;
  /** Brings the server up to what is stored. */
  follow(newest: StoredSession): Promise<void>;
  /** `undefined` when a request with one of the ids is in flight. */
  post(post: ClientPost): Promise<Response | undefined>;
  close(): Promise<void>;
}

/** Builds the author's server for a session and connects it. */
export async function createLiveSession<State extends object>(
  options: LiveSessionOptions<State>,
): Promise<LiveSession> {
  const { sessionId, hash, stored, principal, answers, log, standalone } = options;
  const { waker, emit, replica } = options;
  const instance = randomName();
  const eventIds = await sessionEventIds(sessionId);
  const closing = new AbortController();
  let listening = new AbortController();
  let followTurn: Promise<unknown> = Promise.resolve();
  let onInitialize = options.onInitialize;
  /** A new session's first request, until it is answered. */
  let initializing: RequestId | undefined;

  const state = createSharedState<State>({
    state: stored.record.state,
    version: stored.record.stateVersion,
    maxBytes: options.maxStateBytes,
    save: (...args) => stored.saveState(...args),
    onConflict: options.onStateConflict,
    onConflictSeen: (resolved) =>
      emit({ type: "state-conflict", session: fingerprint(hash), resolved }),
  });

  const wire = createSessionTransport({
    sessionId,
    answers,
    retryMs: options.retryMs,
    keepAliveMs: options.keepAliveMs,
    protocolVersion: () => stored.record.protocolVersion,
    streamOf: (message) => calls.of(message)?.logged,
  });
  const { transport } = wire;

  const calls = createSessionCalls({
    ...{ hash, instance, eventIds, stored, state, transport, answers, log, replica, waker },
    keptAnswers: options.keptAnswers,
  });

  const link = createServerLink(transport, instance, {
    canStream: () => answers === "sse",
    closeStandalone: () => {
      listening.abort();
      listening = new AbortController();
    },
    onRequest: (request) => calls.arrived(request),
    beforeAnswer: async (request, answer) => {
      const call = calls.of(request);
      try {
        if (request.method === "initialize") {
          const tell = onInitialize;
          // Only the first one is about the session; another one is a mistake of the client's.
          onInitialize = async () => {};
          await tell(negotiatedVersion(answer));
        } else if ("result" in answer) await settings.remember(request);
        if (call) await state.settle(call.hold);
        return answer;
      } catch (error) {
        return failure(request.id, error);
      } finally {
        // In JSON there is no coming back for an answer.
        if (answers === "json") await call?.logged.forget(request.id).catch(() => {});
      }
    },
    onRelated: (request, message) => calls.related(request, message),
    onSettled: (request) => {
      if (request.method === "initialize") initializing = undefined;
      void calls.settled(request).catch(() => {});
    },
    onStandalone: (message) => standalone.append({ hash, owner: stored.record.owner }, message),
    onCancelled: (request) => void calls.cancelled(request).catch(() => {}),
  });

  const session = createServerSession(stored, state);
  const settings = createToldSettings(stored, (message) => link.inject(message));
  const startWatching = createCallWatch({
    hash,
    instance,
    stored,
    mailbox: options.mailbox,
    waker,
    pollIntervalMs: options.pollIntervalMs,
    closed: closing.signal,
    isBusy: () => calls.isBusy,
    receive: (message) => link.receive(message),
    onGone: options.onGone,
  });
  const server = await options.createServer({ session, principal });
  try {
    await server.connect(link.transport);
  } catch (error) {
    await server.close().catch(() => {});
    throw error;
  }

  async function takeOver(): Promise<void> {
    const { record } = stored;
    state.refresh(record.state, record.stateVersion, record.stateWriters);
    await settings.tell(record);
  }

  return {
    instance,
    closed: closing.signal,
    get listening() {
      return listening.signal;
    },
    get requestsInFlight() {
      return calls.count + (initializing === undefined ? 0 : 1);
    },
    isServing: (requestId) => calls.has(requestId),
    initialize: async (post) => {
      initializing = post.requests[0]!.id;
      const response = await wire.post(post);
      if (!response.ok) initializing = undefined;
      return response;
    },
    replayInitialize: async (url) => {
      const { initialize, protocolVersion } = stored.record;
      const headers = {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
      };
      const params = { ...initialize, protocolVersion };
      const parsedBody = { jsonrpc: "2.0", id: "restore", method: "initialize", params };
      let negotiated: string | undefined;
      onInitialize = async (version) => {
        negotiated = version;
      };
      const request = new Request(url, { method: "POST", headers });
      const response = await transport.handleRequest(request, { parsedBody });
      // To its end, which is after the answer.
      await response.text();
      return negotiated;
    },
    follow: (newest) => {
      stored.see(newest);
      const result = followTurn.then(takeOver);
      followTurn = result.catch(() => {});
      return result;
    },
    post: async (post) => {
      if (post.requests.length === 0) {
        await settings.rememberInitialized(post.body);
        return await wire.post(post);
      }
      const call = await calls.open(post);
      if (!call) return undefined;
      startWatching();
      try {
        await settings.rememberInitialized(post.body);
        const response = await wire.post(post, call.logged);
        if (!response.ok) await calls.abandon(call);
        return response;
      } catch (error) {
        await calls.abandon(call);
        throw error;
      }
    },
    close: async () => {
      closing.abort();
      if (initializing !== undefined) {
        await transport.send(outcomeUnknown(initializing)).catch(() => {});
      }
      await calls.close();
      await server.close();
    },
  };
}

function negotiatedVersion(answer: Answer): string | undefined {
  if (!("result" in answer)) return undefined;
  const version = (answer.result as { protocolVersion?: unknown }).protocolVersion;
  return typeof version === "string" ? version : undefined;
}

function failure(requestId: RequestId, error: unknown): Answer {
  const known = McpSessionError.isInstance(error);
  return {
    jsonrpc: "2.0",
    id: requestId,
    error: {
      code: -32603,
      message: known ? error.message : "The session could not be saved.",
      ...(known && { data: { code: error.code } }),
    },
  } as JSONRPCMessage as Answer;
}
