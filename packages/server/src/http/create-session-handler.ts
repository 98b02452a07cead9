import { McpSessionError, type Principal, sessionKey } from "@durable-mcp/core";
import { fingerprint } from "../base/session-id.ts";
import { createHandlerContext } from "../live/handler-context.ts";
import { PoolClosed, PoolFull } from "../live/live-pool.ts";
import { type Caller, CannotRestore, createSessionDirectory } from "../live/session-directory.ts";
import type { SessionHandlerOptions } from "../live/session-handler-options.ts";
import { MailFull } from "../streams/mailbox.ts";
import { createAdopt } from "./adopt-session.ts";
import { checkHandlerOptions } from "./check-handler-options.ts";
import { createHostCheck } from "./allowed-hosts.ts";
import { isStatelessRequest, parseClientBody } from "./client-message.ts";
import { createHandlerLife, type DrainOptions } from "./handler-life.ts";
import { errorAnswer, sessionNotFound, tooMany, unavailable } from "./http-answer.ts";
import { readBody } from "./read-body.ts";
import { checkSdkVersion } from "./sdk-version.ts";
import { type ServeContext, sessionOf } from "./serve-context.ts";
import { createServeGet } from "./serve-get.ts";
import { servePost } from "./serve-post.ts";

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
   * Closes the servers in this process whose session has expired or was ended elsewhere.
   * @returns how many
   */
  sweep(): Promise<number>;
  /** How many sessions have a server in this process. */
  readonly liveSessions: number;
}

/**
 * A handler of Streamable HTTP, for all protocol revisions with sessions, whose sessions outlive the
 * process and are served by any replica that has the same store.
 *
 * @throws {McpSessionError} `CONNECTION_INVALID`, naming the option: a wrong value, an unknown option, no
 *   `principal`
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#streamable-http
 */
export function createSessionHandler<State extends object = Record<string, unknown>>(
  options: SessionHandlerOptions<State>,
): SessionHandler {
  checkHandlerOptions(options);
  const handlerContext = createHandlerContext(options);
  const { emit } = handlerContext;
  checkSdkVersion(emit);
  const directory = createSessionDirectory(handlerContext, options);
  const life = createHandlerLife(handlerContext, directory);
  const adopts = options.unknownSession === "adopt";
  const capabilities = options.adoptedCapabilities ?? {};
  const adopt = adopts ? createAdopt(directory, capabilities, emit) : undefined;
  const serve = createRouter({ ...handlerContext, options, directory, life, adopt }, options);

  const handler = (request: Request) =>
    life.track(() => serve(request).catch((error: unknown) => failureAnswer(error, emit)));
  const { drain, sweep } = life;
  return Object.defineProperty(Object.assign(handler, { drain, sweep }), "liveSessions", {
    get: () => directory.pool.size,
  }) as SessionHandler;
}

function createRouter(
  context: ServeContext,
  hosts: Parameters<typeof createHostCheck>[0],
): (request: Request) => Promise<Response> {
  const { emit, life, options } = context;
  const checkHost = createHostCheck(hosts);
  const serveGet = createServeGet(context);

  return async (request) => {
    const refusal = checkHost(request);
    if (refusal) {
      emit({ type: "refused", reason: refusal.reason });
      return errorAnswer(403, -32000, refusal.message);
    }
    if (life.phase === "closed") return unavailable("This server has shut down.");
    if (request.method === "POST") return await readAndServe(context, request);
    if (request.method !== "GET" && request.method !== "DELETE") {
      const headers = { Allow: "GET, POST, DELETE" };
      return errorAnswer(405, -32000, "Method not allowed.", { headers });
    }
    if (options.stateless && isStatelessRequest(request, undefined)) {
      return await options.stateless(request);
    }
    const caller = await identify(context, request);
    if (caller instanceof Response) return caller;
    if (request.method === "DELETE") return await serveDelete(context, request, caller);
    if (life.phase === "draining") return unavailable("This server is shutting down.");
    return await serveGet(request, caller);
  };
}

async function readAndServe(context: ServeContext, request: Request): Promise<Response> {
  const { settings, emit, options } = context;
  const { bodyBytes } = settings.limits;
  const text = await readBody(request, bodyBytes);
  if (text === undefined) {
    emit({ type: "refused", reason: "too-large" });
    const message = `Payload Too Large: limits.bodyBytes allows ${bodyBytes} bytes`;
    return errorAnswer(413, -32000, message);
  }
  const body = parseClientBody(text);
  if (options.stateless && isStatelessRequest(request, body)) {
    const { method, headers, signal, url } = request;
    return await options.stateless(new Request(url, { method, headers, signal, body: text }));
  }
  if (!body) return errorAnswer(400, -32700, "Parse error: Invalid JSON");
  const caller = await identify(context, request);
  if (caller instanceof Response) return caller;
  const authInfo = await options.authInfo?.(request);
  return await servePost(context, { request, body, caller, authInfo });
}

const anonymous: Principal = { type: "anonymous" };

async function identify(context: ServeContext, request: Request): Promise<Caller | Response> {
  const { settings, emit, options } = context;
  const principal = options.principal === "none" ? anonymous : await options.principal(request);
  if (principal instanceof Response) return principal;
  if (principal) {
    return { principal, owner: sessionKey({ connection: settings.name, principal }) };
  }
  emit({ type: "refused", reason: "principal" });
  return errorAnswer(401, -32000, "Unauthorized");
}

async function serveDelete(
  context: ServeContext,
  request: Request,
  caller: Caller,
): Promise<Response> {
  const session = await sessionOf(context, request, caller);
  if (session instanceof Response) return session;
  await context.directory.end(session.stored);
  context.emit({ type: "ended", session: fingerprint(session.stored.hash) });
  return new Response(null, { status: 200 });
}

/** The answer to a request that failed; no client sees the error itself. */
function failureAnswer(error: unknown, emit: ServeContext["emit"]): Response {
  if (error instanceof CannotRestore) return sessionNotFound();
  if (error instanceof PoolClosed) return unavailable("This server has shut down.");
  if (error instanceof PoolFull) {
    emit({ type: "refused", reason: "too-many-sessions" });
    return unavailable("Too many live sessions (limits.liveSessions). Try again later.", 5);
  }
  if (error instanceof MailFull) {
    emit({ type: "refused", reason: "too-many-messages" });
    return tooMany("Too many messages wait for another process of this server.");
  }
  if (McpSessionError.isInstance(error) && error.code === "STORE_FAILED") {
    const data = { code: error.code };
    const message = "The session store is not available. Try again later.";
    return errorAnswer(503, -32603, message, { data, retryAfterSeconds: 1 });
  }
  emit({ type: "failed", error });
  return errorAnswer(500, -32603, "Internal server error");
}
