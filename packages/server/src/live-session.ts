import type { Principal } from "@durable-mcp/core";
import { McpSessionError } from "@durable-mcp/core";
import type { JSONRPCMessage, JSONRPCRequest, RequestId } from "@modelcontextprotocol/sdk/types.js";
import { createCallWatch } from "./call-watch.ts";
import { sessionEventIds } from "./event-id.ts";
import type { Mailbox } from "./mailbox.ts";
import type { Replica } from "./replica.ts";
import { outcomeUnknown } from "./request-record.ts";
import type { LoggedRequests, RequestLog } from "./request-log.ts";
import { type Answer, createServerLink } from "./server-link.ts";
import { createSharedState, type OnStateConflict, type StateHold } from "./shared-state.ts";
import type { EmitServerEvent } from "./server-event.ts";
import { type AnswerKind, type CreateServer, createServerSession } from "./server-session.ts";
import { fingerprint, randomName } from "./session-id.ts";
import type { StandaloneStreams } from "./standalone-stream.ts";
import type { StoredSession } from "./stored-session.ts";
import { type ClientPost, createSessionTransport } from "./session-transport.ts";
import { createToldSettings } from "./told-settings.ts";
import type { Waker } from "./waker.ts";

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

interface Exchange {
  readonly logged: LoggedRequests;
  readonly hold: StateHold;
  readonly open: Set<RequestId>;
  readonly release: () => void;
  /** Some answer will not come, for which the transport would keep the stream open. */
  hasCancelled?: boolean;
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
  const exchanges = new Map<RequestId, Exchange>();
  /** By request, and by message of its answer stream. */
  const exchangeOf = new WeakMap<object, Exchange>();
  const answered: LoggedRequests[] = [];
  let followTurn: Promise<unknown> = Promise.resolve();
  /** Requests that are being written down. */
  let opening = 0;
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
    streamOf: (message) => exchangeOf.get(message)?.logged,
  });
  const { transport } = wire;

  const link = createServerLink(transport, instance, {
    canStream: () => answers === "sse",
    closeStandalone: () => {
      listening.abort();
      listening = new AbortController();
    },
    onRequest: (request) => {
      const exchange = exchanges.get(request.id);
      if (exchange) exchangeOf.set(request, exchange);
    },
    beforeAnswer: async (request, answer) => {
      const exchange = exchangeOf.get(request);
      try {
        if (request.method === "initialize") {
          const tell = onInitialize;
          // Only the first one is about the session; another one is a mistake of the client's.
          onInitialize = async () => {};
          await tell(negotiatedVersion(answer));
        } else if ("result" in answer) await settings.remember(request);
        if (exchange) await state.settle(exchange.hold);
        return answer;
      } catch (error) {
        return failure(request.id, error);
      } finally {
        // In JSON there is no coming back for an answer.
        if (answers === "json") await exchange?.logged.forget(request.id).catch(() => {});
      }
    },
    onRelated: (request, message) => {
      const exchange = exchangeOf.get(request);
      if (exchange) exchangeOf.set(message, exchange);
    },
    onSettled: (request) => void settled(request).catch(() => {}),
    onStandalone: (message) => standalone.append({ hash, owner: stored.record.owner }, message),
    onCancelled: (request) => void endCancelled(request).catch(() => {}),
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
    isBusy: () => exchanges.size > 0,
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

  async function settled(request: JSONRPCRequest): Promise<void> {
    if (request.method === "initialize") initializing = undefined;
    const exchange = exchangeOf.get(request);
    if (!exchange) return;
    if (exchanges.get(request.id) === exchange) exchanges.delete(request.id);
    exchange.open.delete(request.id);
    if (exchange.open.size > 0) return;
    if (exchange.hasCancelled && answers === "sse") transport.closeSSEStream(request.id);
    end(exchange);
    if (answers === "json") return;
    answered.push(exchange.logged);
    if (answered.length > options.keptAnswers) await answered.shift()?.discard();
  }

  function end(exchange: Exchange): void {
    state.release(exchange.hold);
    exchange.release();
    if (exchanges.size === 0) waker.wake(instance);
  }

  /** The answer will not come; its HTTP request must end all the same. */
  async function endCancelled(request: JSONRPCRequest): Promise<void> {
    const exchange = exchangeOf.get(request);
    if (!exchange) return;
    exchange.hasCancelled = true;
    await exchange.logged.forget(request.id);
    if (answers === "sse") return;
    const error = { code: -32603, message: "The request was cancelled." };
    await transport.send({ jsonrpc: "2.0", id: request.id, error });
  }

  async function openExchange(post: ClientPost): Promise<Exchange | undefined> {
    const [first, ...rest] = post.requests.map((request) => request.id);
    const ids = [first!, ...rest] as const;
    const release = await replica.hold();
    const owner = { eventIds, hash, owner: stored.record.owner, instance };
    const logged = await log.open(owner, ids).catch((error: unknown) => {
      release();
      throw error;
    });
    if (!logged) {
      release();
      return undefined;
    }
    const exchange: Exchange = { logged, hold: state.hold(), open: new Set(ids), release };
    for (const id of ids) exchanges.set(id, exchange);
    return exchange;
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
      return exchanges.size + opening + (initializing === undefined ? 0 : 1);
    },
    isServing: (requestId) => exchanges.has(requestId),
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
      opening += post.requests.length;
      const exchange = await openExchange(post).finally(() => {
        opening -= post.requests.length;
      });
      if (!exchange) return undefined;
      startWatching();
      try {
        await settings.rememberInitialized(post.body);
        const response = await wire.post(post, exchange.logged);
        if (!response.ok) await abandon(exchange);
        return response;
      } catch (error) {
        await abandon(exchange);
        throw error;
      }
    },
    close: async () => {
      closing.abort();
      if (initializing !== undefined) {
        await transport.send(outcomeUnknown(initializing)).catch(() => {});
      }
      for (const id of exchanges.keys()) {
        const error = outcomeUnknown(id) as Answer;
        const exchange = exchanges.get(id)!;
        exchangeOf.set(error, exchange);
        await transport.send(error).catch(() => {});
        if (answers === "json") await exchange.logged.forget(id).catch(() => {});
      }
      for (const exchange of new Set(exchanges.values())) end(exchange);
      exchanges.clear();
      await server.close();
    },
  };

  /** The transport refused the POST, so that its requests were not begun. */
  async function abandon(exchange: Exchange): Promise<void> {
    for (const id of exchange.open) exchanges.delete(id);
    end(exchange);
    await exchange.logged.discard().catch(() => {});
  }
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
