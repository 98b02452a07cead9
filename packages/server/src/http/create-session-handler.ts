import { createMemoryStore, McpSessionError, type Principal, sessionKey } from "@durable-mcp/core";
import { createAdopt } from "./adopt-session.ts";
import { createHostCheck } from "./allowed-hosts.ts";
import { isStatelessRequest, parseClientBody } from "./client-message.ts";
import { errorAnswer, sessionNotFound, unavailable } from "./http-answer.ts";
import { createLivePool, PoolFull } from "../live/live-pool.ts";
import { createMailbox, MailFull } from "../streams/mailbox.ts";
import { readBody } from "./read-body.ts";
import { createReplica } from "../records/replica.ts";
import { createRequestLog } from "../streams/request-log.ts";
import { checkSdkVersion } from "./sdk-version.ts";
import { checkVersion, createServeGet } from "./serve-get.ts";
import { createServePost } from "./serve-post.ts";
import { createEmit } from "../base/server-event.ts";
import {
  type Caller,
  CannotRestore,
  createSessionDirectory,
  type HandlerParts,
} from "../live/session-directory.ts";
import { type SessionHandlerOptions, withDefaults } from "../live/session-handler-options.ts";
import { fingerprint } from "../base/session-id.ts";
import { createStandaloneStreams } from "../streams/standalone-stream.ts";
import { createStoredSessions } from "../records/stored-session.ts";
import { createWaker } from "../streams/waker.ts";
import { watchStore } from "../records/watched-store.ts";

export interface DrainOptions {
  /** How long to wait for calls in flight, in milliseconds. @default 10000 */
  readonly timeoutMs?: number | undefined;
}

/** Serves MCP sessions; also a handler for Hono, Next.js, Bun and others that speak `fetch`. */
export interface SessionHandler {
  (request: Request): Promise<Response>;
  /**
   * For a deploy: refuses new sessions with 503, ends listening streams, waits for calls in flight,
   * then closes every server in this process and gives 503 to everything. Clients go on at another
   * replica. A call that takes longer than `timeoutMs` is answered with `OUTCOME_UNKNOWN`.
   */
  drain(options?: DrainOptions): Promise<void>;
  /**
   * Closes the servers in this process whose session has ended, expired, or was ended elsewhere.
   * @returns how many
   */
  sweep(): Promise<number>;
  /** How many sessions have a server in this process. */
  readonly liveSessions: number;
}

/** Seconds after which a client that met a shutting down process may try again. */
const retryAfterSeconds = 1;

/**
 * A handler of Streamable HTTP, for all protocol revisions with sessions, whose sessions outlive the
 * process and are served by any replica that has the same store.
 *
 * @throws {McpSessionError} `CONNECTION_INVALID` when `principal` is missing
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#streamable-http
 */
export function createSessionHandler<State extends object = Record<string, unknown>>(
  options: SessionHandlerOptions<State>,
): SessionHandler {
  if (options.principal !== "none" && typeof options.principal !== "function") {
    throw new McpSessionError(
      "CONNECTION_INVALID",
      'principal must be a function that tells who sends a request, or "none".',
      { data: { field: "principal" } },
    );
  }
  const settings = withDefaults(options);
  const { name, now, pollIntervalMs, bounds, limits } = settings;
  const emit = createEmit(options.onEvent);
  checkSdkVersion(emit);
  const store = watchStore(options.store ?? createMemoryStore({ now }), emit);
  const waker = createWaker();
  const replica = createReplica({ store, name, leaseMs: settings.leaseMs, now });
  const common = { store, name, now };
  const sessions = createStoredSessions({ ...common, lifetime: settings.lifetime });
  const isStored = async (hash: string) => (await sessions.find(hash)) !== undefined;
  const parts: HandlerParts = {
    settings,
    emit,
    waker,
    replica,
    pool: createLivePool(limits.liveSessions, emit),
    sessions,
    mailbox: createMailbox({ ...common, isStored, maxAgeMs: settings.eventMaxAgeMs }),
    log: createRequestLog({
      ...common,
      replica,
      waker,
      bounds,
      maxAgeMs: settings.eventMaxAgeMs,
      maxOpenMs: settings.maxOpenMs,
    }),
    standalone: createStandaloneStreams({
      ...common,
      isStored,
      replica,
      waker,
      bounds,
      pollIntervalMs,
      maxAgeMs: settings.eventMaxAgeMs,
      keepMs: settings.lifetime.idleTimeoutMs,
    }),
  };
  const directory = createSessionDirectory(parts, options);
  const streamsClosing = new AbortController();
  /** Requests that have no response yet, and may not have come to a session. */
  const unanswered = { count: 0 };
  let phase: "serving" | "draining" | "closed" = "serving";

  const checkHost = createHostCheck(options);
  const serveGet = createServeGet({ parts, directory, closing: streamsClosing.signal });
  const servePost = createServePost({
    parts,
    directory,
    adopt:
      options.unknownSession === "adopt"
        ? createAdopt({ directory, capabilities: options.adoptedCapabilities ?? {}, emit })
        : undefined,
    drainingFor: () => (phase === "serving" ? undefined : retryAfterSeconds),
  });

  async function callerOf(request: Request): Promise<Caller | Response> {
    const { principal: identify } = options;
    const principal = identify === "none" ? anonymous : await identify(request);
    if (principal instanceof Response) return principal;
    if (principal) {
      return { principal, owner: sessionKey({ connection: name, principal }) };
    }
    emit({ type: "refused", reason: "principal" });
    return errorAnswer(401, -32000, "Unauthorized");
  }

  async function servePostRequest(request: Request): Promise<Response> {
    const text = await readBody(request, limits.bodyBytes);
    if (text === undefined) {
      emit({ type: "refused", reason: "too-large" });
      const message = `Payload Too Large: Request body must not exceed ${limits.bodyBytes} bytes`;
      return errorAnswer(413, -32000, message);
    }
    const body = parseClientBody(text);
    if (options.stateless && isStatelessRequest(request, body)) {
      const { method, headers, signal, url } = request;
      return await options.stateless(new Request(url, { method, headers, signal, body: text }));
    }
    if (!body) return errorAnswer(400, -32700, "Parse error: Invalid JSON");
    const caller = await callerOf(request);
    if (caller instanceof Response) return caller;
    const authInfo = await options.authInfo?.(request);
    return await servePost({ request, body, caller, authInfo });
  }

  async function serveDelete(request: Request, caller: Caller): Promise<Response> {
    const sessionId = request.headers.get("mcp-session-id");
    if (sessionId === null) {
      return errorAnswer(400, -32000, "Bad Request: Mcp-Session-Id header is required");
    }
    const session = await directory.find(sessionId, caller);
    if (!session) return sessionNotFound();
    const refusal = checkVersion(request);
    if (refusal) return refusal;
    await directory.remove(session);
    emit({ type: "ended", session: fingerprint(session.hash) });
    return new Response(null, { status: 200 });
  }

  async function serve(request: Request): Promise<Response> {
    const refusal = checkHost(request);
    if (refusal) {
      emit({ type: "refused", reason: refusal.reason });
      return errorAnswer(403, -32000, refusal.message);
    }
    if (phase === "closed") return unavailable("This server has shut down.", retryAfterSeconds);
    if (request.method === "POST") return await servePostRequest(request);
    if (request.method !== "GET" && request.method !== "DELETE") {
      return errorAnswer(405, -32000, "Method not allowed.", {
        headers: { Allow: "GET, POST, DELETE" },
      });
    }
    if (options.stateless && isStatelessRequest(request, undefined)) {
      return await options.stateless(request);
    }
    const caller = await callerOf(request);
    if (caller instanceof Response) return caller;
    if (request.method === "DELETE") return await serveDelete(request, caller);
    if (phase === "draining") {
      return unavailable("This server is shutting down.", retryAfterSeconds);
    }
    return await serveGet(request, caller);
  }

  /** What no request should see the inside of. */
  function failed(error: unknown): Response {
    if (error instanceof CannotRestore) return sessionNotFound();
    if (error instanceof PoolFull) {
      emit({ type: "refused", reason: "too-many-sessions" });
      return unavailable("Too many sessions are live in this process.", 5);
    }
    if (error instanceof MailFull) {
      emit({ type: "refused", reason: "too-many-messages" });
      return errorAnswer(429, -32000, "Too much is waiting for another process of this server.", {
        headers: { "Retry-After": String(retryAfterSeconds) },
      });
    }
    if (McpSessionError.isInstance(error) && error.code === "STORE_FAILED") {
      return errorAnswer(503, -32603, "The session store is not available.", {
        data: { code: error.code },
        headers: { "Retry-After": String(retryAfterSeconds) },
      });
    }
    emit({ type: "failed", error });
    return errorAnswer(500, -32603, "Internal server error");
  }

  async function drain({ timeoutMs = 10_000 }: DrainOptions = {}): Promise<void> {
    if (phase === "serving") phase = "draining";
    streamsClosing.abort();
    const deadline = Date.now() + timeoutMs;
    while ((parts.pool.uses > 0 || unanswered.count > 0) && Date.now() < deadline) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    phase = "closed";
    await parts.pool.closeAll();
    // Told as an event; a lease that is not given back runs out.
    await replica.leave().catch(() => {});
  }

  async function sweep(): Promise<number> {
    let closed = 0;
    for (const hash of parts.pool.hashes) {
      // What cannot be read stays; the store's failure was told as an event.
      const isOver = await parts.sessions.find(hash).then(
        (stored) => stored === undefined,
        () => false,
      );
      if (!isOver) continue;
      await parts.pool.close(hash);
      closed += 1;
    }
    return closed;
  }

  const handler = async (request: Request) => {
    unanswered.count += 1;
    try {
      return await serve(request).catch(failed);
    } finally {
      unanswered.count -= 1;
    }
  };
  return Object.defineProperty(Object.assign(handler, { drain, sweep }), "liveSessions", {
    get: () => parts.pool.size,
  }) as SessionHandler;
}

const anonymous: Principal = { type: "anonymous" };
