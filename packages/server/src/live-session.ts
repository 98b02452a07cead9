import type { Principal } from "@durable-mcp/core";
import { McpSessionError } from "@durable-mcp/core";
import type { AuthInfo } from "@modelcontextprotocol/sdk/server/auth/types.js";
import {
  type EventStore,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import type {
  ClientCapabilities,
  Implementation,
  JSONRPCMessage,
  JSONRPCRequest,
  RequestId,
} from "@modelcontextprotocol/sdk/types.js";
import { sessionEventIds } from "./event-id.ts";
import type { Mailbox } from "./mailbox.ts";
import type { Replica } from "./replica.ts";
import { outcomeUnknown } from "./request-record.ts";
import type { LoggedRequests, RequestLog } from "./request-log.ts";
import { type Answer, createServerLink } from "./server-link.ts";
import { createSharedState, type OnStateConflict, type StateHold } from "./shared-state.ts";
import type { EmitServerEvent } from "./server-event.ts";
import type { SessionRecord } from "./session-record.ts";
import { fingerprint, randomName } from "./session-id.ts";
import type { StandaloneStreams } from "./standalone-stream.ts";
import type { StoredSession } from "./stored-session.ts";
import type { Waker } from "./waker.ts";

/** A session as the author's server sees it. */
export interface ServerSession<State extends object> {
  /**
   * The session's own JSON object. Read and change it in a handler: what changed is stored before
   * the answer goes out. Take it from here each time, it is another object after a change elsewhere.
   */
  readonly state: State;
  /**
   * Applies `change` to the newest state and stores the result at once. `change` runs again when
   * another call was faster, so it changes nothing but its argument, and never conflicts.
   *
   * @throws {McpSessionError} `STATE_CONFLICT` after 20 times, `STATE_INVALID` when the state grows
   *   over its limit, `SESSION_LOST` when the session has ended, `STORE_FAILED`
   */
  update<Result>(change: (state: State) => Result): Promise<Result>;
  /** Negotiated with the client. */
  readonly protocolVersion: string;
  readonly clientCapabilities: ClientCapabilities;
  /** As the client calls itself: unverified. */
  readonly clientInfo: Implementation | undefined;
}

/** What a handler needs of an `McpServer` or `Server` of `@modelcontextprotocol/sdk`. */
export interface ConnectableServer {
  connect(transport: Transport): Promise<void>;
  close(): Promise<void>;
}

export type CreateServer<State extends object> = (context: {
  readonly session: ServerSession<State>;
  /** Of the request that started the session; all later ones have the same. */
  readonly principal: Principal;
}) => ConnectableServer | Promise<ConnectableServer>;

/** How the requests of a session are answered: as SSE streams, or each with one JSON body. */
export type AnswerKind = "sse" | "json";

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

/** One POST with requests, as it is handed to the SDK's transport. */
interface ClientPost {
  readonly request: Request;
  readonly body: unknown;
  readonly requests: readonly JSONRPCRequest[];
  readonly authInfo: AuthInfo | undefined;
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

/** Characters of the URIs that a session is subscribed to. */
const maxSubscriptionsLength = 65_536;

/** Builds the author's server for a session and connects it. */
export async function createLiveSession<State extends object>(
  options: LiveSessionOptions<State>,
): Promise<LiveSession> {
  const { sessionId, hash, stored, principal, answers, log, standalone, mailbox } = options;
  const { waker, emit, replica, pollIntervalMs } = options;
  const instance = randomName();
  const eventIds = await sessionEventIds(sessionId);
  const closing = new AbortController();
  let listening = new AbortController();
  const exchanges = new Map<RequestId, Exchange>();
  /** By request, and by message of its answer stream. */
  const exchangeOf = new WeakMap<object, Exchange>();
  const answered: LoggedRequests[] = [];
  const applied = { initialized: false, logLevel: "", subscriptions: new Set<string>() };
  let dispatching: Exchange | undefined;
  let dispatchTurn: Promise<unknown> = Promise.resolve();
  let followTurn: Promise<unknown> = Promise.resolve();
  let onInitialize = options.onInitialize;
  /** A new session's first request, until it is answered. */
  let initializing: RequestId | undefined;

  const state = createSharedState<State>({
    state: stored.record.state,
    version: stored.record.stateVersion,
    maxBytes: options.maxStateBytes,
    save: (next, ifVersion) => stored.saveState(next, ifVersion),
    onConflict: options.onStateConflict,
    onConflictSeen: (resolved) =>
      emit({ type: "state-conflict", session: fingerprint(hash), resolved }),
  });

  const eventStore: EventStore = {
    storeEvent: async (_streamId, message) => {
      const exchange = exchangeOf.get(message) ?? dispatching;
      // The answer to `initialize` is not kept: a client that misses it initializes again.
      if (!exchange) return "";
      if (!("jsonrpc" in message)) return exchange.logged.eventId(0);
      // Without an id the client gets the message all the same, and cannot resume after it.
      return (await exchange.logged.append(message).catch(() => undefined)) ?? "";
    },
    replayEventsAfter: () =>
      Promise.reject(new Error("Streams are resumed from the store, not by the transport.")),
  };

  const transport = new WebStandardStreamableHTTPServerTransport({
    sessionIdGenerator: () => sessionId,
    enableJsonResponse: answers === "json",
    ...(answers === "sse" && { eventStore }),
    retryInterval: options.retryMs,
    keepAliveMs: options.keepAliveMs,
  });

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
        } else if ("result" in answer) await remember(request);
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

  const session: ServerSession<State> = {
    get state() {
      return state.current;
    },
    update: (change) => state.update(change),
    get protocolVersion() {
      return stored.record.protocolVersion;
    },
    get clientCapabilities() {
      return stored.record.initialize.capabilities as ClientCapabilities;
    },
    get clientInfo() {
      return stored.record.initialize["clientInfo"] as Implementation | undefined;
    },
  };
  const server = await options.createServer({ session, principal });
  await server.connect(link.transport);

  /** What the server was told that its successor must be told too. */
  async function remember({ method, params }: JSONRPCRequest): Promise<void> {
    if (method === "logging/setLevel") {
      const logLevel = String(params?.["level"]);
      applied.logLevel = logLevel;
      await stored.edit((record) => ({ ...record, logLevel }));
    }
    if (method !== "resources/subscribe" && method !== "resources/unsubscribe") return;
    const uri = String(params?.["uri"]);
    const isAdded = method === "resources/subscribe";
    const { subscriptions } = stored.record;
    if (isAdded && subscriptions.join("").length + uri.length > maxSubscriptionsLength) {
      throw new McpSessionError(
        "STATE_INVALID",
        "The session has too many subscriptions to remember another one.",
        { data: { method } },
      );
    }
    if (isAdded) applied.subscriptions.add(uri);
    else applied.subscriptions.delete(uri);
    await stored.edit((record) => {
      const others = record.subscriptions.filter((other) => other !== uri);
      return { ...record, subscriptions: isAdded ? [...others, uri] : others };
    });
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

  /** While calls run: takes the client's messages for them that reached another replica. */
  async function watchMail(): Promise<void> {
    while (exchanges.size > 0 && !closing.signal.aborted) {
      await waker.wait(instance, pollIntervalMs, closing.signal);
      if (exchanges.size === 0 || closing.signal.aborted) return;
      for (const message of await mailbox.take(hash, instance)) link.receive(message);
      if (!(await stored.load())) return options.onGone();
      await stored.renew();
    }
  }

  /** Requests that are being written down. */
  let opening = 0;
  let isWatching = false;
  function startWatching(): void {
    if (isWatching) return;
    isWatching = true;
    void (async () => {
      while (exchanges.size > 0 && !closing.signal.aborted) await watchMail().catch(() => {});
      isWatching = false;
    })();
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

  function handOver({ request, body, authInfo }: ClientPost): Promise<Response> {
    const headers = new Headers(request.headers);
    headers.set("mcp-session-id", sessionId);
    if (!headers.has("mcp-protocol-version") && stored.record.protocolVersion) {
      headers.set("mcp-protocol-version", stored.record.protocolVersion);
    }
    const copy = new Request(request.url, { method: "POST", headers });
    return transport.handleRequest(copy, { parsedBody: body, ...(authInfo && { authInfo }) });
  }

  /**
   * One at a time: the transport asks for the id of a stream's first event without saying which
   * POST the stream answers. In JSON there are no such events, and the wait would be for the answer.
   */
  function dispatch(post: ClientPost, exchange: Exchange | undefined): Promise<Response> {
    if (answers === "json") return handOver(post);
    const result = dispatchTurn.then(async () => {
      dispatching = exchange;
      try {
        return await handOver(post);
      } finally {
        dispatching = undefined;
      }
    });
    dispatchTurn = result.catch(() => {});
    return result;
  }

  async function applyRecord(record: SessionRecord): Promise<void> {
    state.refresh(record.state, record.stateVersion);
    if (record.initialized && !applied.initialized) {
      applied.initialized = true;
      await link.inject({ method: "notifications/initialized" });
    }
    if (record.logLevel !== undefined && record.logLevel !== applied.logLevel) {
      applied.logLevel = record.logLevel;
      const params = { level: record.logLevel };
      await link.inject({ method: "logging/setLevel", params, id: "answered" });
    }
    for (const uri of record.subscriptions) {
      if (applied.subscriptions.has(uri)) continue;
      applied.subscriptions.add(uri);
      await link.inject({ method: "resources/subscribe", params: { uri }, id: "answered" });
    }
    for (const uri of [...applied.subscriptions]) {
      if (record.subscriptions.includes(uri)) continue;
      applied.subscriptions.delete(uri);
      await link.inject({ method: "resources/unsubscribe", params: { uri }, id: "answered" });
    }
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
      const response = await handOver(post);
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
      const result = followTurn.then(() => applyRecord(stored.record));
      followTurn = result.catch(() => {});
      return result;
    },
    post: async (post) => {
      if (post.requests.length === 0) {
        if (includesInitialized(post.body)) {
          applied.initialized = true;
          await stored.edit((record) => ({ ...record, initialized: true }));
        }
        return await dispatch(post, undefined);
      }
      opening += post.requests.length;
      const exchange = await openExchange(post).finally(() => {
        opening -= post.requests.length;
      });
      if (!exchange) return undefined;
      startWatching();
      try {
        const response = await dispatch(post, exchange);
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

function includesInitialized(body: unknown): boolean {
  const messages: unknown[] = Array.isArray(body) ? body : [body];
  return messages.some(
    (message) => (message as { method?: unknown } | null)?.method === "notifications/initialized",
  );
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
