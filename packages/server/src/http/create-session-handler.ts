import { McpSessionError, type Principal, sessionKey } from "@durable-mcp/core";
import { BodyNotRead, createHostCheck } from "@durable-mcp/core/internal";
import { isResponse, type Reply, type Serve, serveOf, toResponse } from "../base/reply.ts";
import { type ServedRequest, servedFromWeb } from "../base/served-request.ts";
import { fingerprint } from "../base/session-id.ts";
import { createHandlerContext } from "../context/handler-context.ts";
import { PoolClosed, PoolFull } from "../live/live-pool.ts";
import { type Caller, CannotRestore, createSessionDirectory } from "../live/session-directory.ts";
import type { SessionHandlerOptions } from "../author/session-handler-options.ts";
import { createStatelessServer } from "../stateless/stateless-server.ts";
import type { JsonState } from "../state/json-state.ts";
import { MailFull } from "../streams/mailbox.ts";
import { createAdopt } from "./adopt-session.ts";
import { checkHandlerOptions } from "./check-handler-options.ts";
import { isStatelessRequest, parseClientBody } from "./client-message.ts";
import { createHandlerLife, type DrainOptions } from "./handler-life.ts";
import { errorAnswer, sessionNotFound, tooMany, unavailable } from "./http-answer.ts";
import { type ServeContext, sessionOf } from "./serve-context.ts";
import { createServeGet } from "./serve-get.ts";
import { servePost } from "./serve-post.ts";
import { serveStateless } from "./serve-stateless.ts";

/**
 * Serves MCP sessions; also a handler for Hono, Next.js, Bun and others that speak `fetch`. What it refuses has a
 * JSON-RPC error whose message names the limit or the fix: 400 (no message of MCP, no session id, an event id of
 * another session), 401 (no principal), 403 (host or origin), 404 (no session of this principal), 405 (the method),
 * 409 (a request with this id is in flight here), 413 and 429 (a limit), 500 (your own code), 503 (the store, a
 * drain, no room). A POST that comes again byte for byte under a random id, as of Deno or a proxy, gets the answer of
 * the first, if it comes to the same process.
 */
export interface SessionHandler {
  (request: Request): Promise<Response>;
  /**
   * For a deploy: refuses new sessions with 503, ends listening streams, waits for calls in flight,
   * then closes every server in this process and gives 503 to everything. Clients go on at another
   * replica. A call that takes longer than `timeoutMs` is answered with `OUTCOME_UNKNOWN`.
   *
   * @throws {McpSessionError} `CONNECTION_INVALID` for a `timeoutMs` that is none
   */
  drain(options?: DrainOptions): Promise<void>;
  /**
   * Closes the servers in this process whose session has expired or was ended elsewhere. The handler
   * does so by itself for those that have expired, every minute at most; this looks at all of them now.
   * @returns how many it closed
   */
  sweep(): Promise<number>;
  /** How many sessions have a server in this process. */
  readonly liveSessions: number;
}

/**
 * Creates a handler of Streamable HTTP, for all protocol revisions with sessions. Its sessions outlive the
 * process, and any replica with the same store serves them.
 *
 * @throws {McpSessionError} `CONNECTION_INVALID`, naming the option: a wrong value, an unknown option, no
 *   `principal`
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#streamable-http
 */
export function createSessionHandler<State extends JsonState<State> = Record<string, unknown>>(
  options: SessionHandlerOptions<State>,
): SessionHandler {
  checkHandlerOptions(options);
  const handlerContext = createHandlerContext(options);
  const { emit } = handlerContext;
  const directory = createSessionDirectory(handlerContext, options);
  const stateless = createStatelessServer(handlerContext, options);
  const life = createHandlerLife(handlerContext, directory, stateless);
  const adopts = options.unknownSession === "adopt";
  const capabilities = options.adoptedCapabilities ?? {};
  const adopt = adopts ? createAdopt(directory, capabilities, emit) : undefined;
  const route = createRouter(
    { ...handlerContext, options, directory, stateless, life, adopt },
    options,
  );
  const serve: Serve = (request) =>
    life.track(() => route(request).catch((error: unknown) => failureAnswer(error, emit)));

  const handler = async (request: Request) => toResponse(await serve(servedFromWeb(request)));
  serveOf.set(handler, serve);
  const { drain } = life;
  const { sweep } = directory;
  return Object.defineProperty(Object.assign(handler, { drain, sweep }), "liveSessions", {
    get: () => directory.pool.hashes.length,
  }) as SessionHandler;
}

function createRouter(
  context: ServeContext,
  hosts: Parameters<typeof createHostCheck>[0],
): (request: ServedRequest) => Promise<Reply | Response> {
  const { emit, life, stateless } = context;
  const checkHost = createHostCheck(hosts);
  const serveGet = createServeGet(context);

  return async (request) => {
    const refusal = checkHost(request);
    if (refusal) {
      emit({ type: "refused", reason: refusal.reason });
      return errorAnswer(403, -32000, refusal.message);
    }
    if (life.phase === "closed") return unavailable("This server has shut down.");
    const { method } = request;
    if (method !== "POST" && method !== "GET" && method !== "DELETE") {
      const headers = { Allow: "GET, POST, DELETE" };
      return errorAnswer(405, -32000, "Method not allowed.", { headers });
    }
    // Before the body: nobody who may not call makes the server read or keep anything.
    const caller = await identify(context, request);
    if ("refusal" in caller) return caller.refusal;
    if (method === "POST") return await readAndServe(context, request, caller);
    if (stateless && isStatelessRequest(request, undefined)) {
      return await serveStateless(context, { request, body: undefined, caller });
    }
    if (method === "DELETE") return await serveDelete(context, request, caller);
    if (life.phase === "draining") return unavailable("This server is shutting down.");
    return await serveGet(request, caller);
  };
}

async function readAndServe(
  context: ServeContext,
  request: ServedRequest,
  caller: Caller,
): Promise<Reply | Response> {
  const { settings, emit, options, stateless } = context;
  const { bodyBytes } = settings.limits;
  const text = await request.readBody(bodyBytes);
  if (text === undefined) {
    emit({ type: "refused", reason: "too-large" });
    const message = `Payload Too Large: limits.bodyBytes allows ${bodyBytes} bytes`;
    return errorAnswer(413, -32000, message);
  }
  const body = parseClientBody(text);
  if (!body) return errorAnswer(400, -32700, "Parse error: Invalid JSON");
  if (stateless && isStatelessRequest(request, body)) {
    return await serveStateless(context, { request, body, caller });
  }
  const authInfo = await options.authInfo?.(request.request);
  return await servePost(context, { request, body, caller, authInfo });
}

const anonymous: Principal = { type: "anonymous" };

async function identify(
  { settings, emit, options }: ServeContext,
  request: ServedRequest,
): Promise<Caller | { refusal: Reply | Response }> {
  const principal =
    options.principal === "none" ? anonymous : await options.principal(request.request);
  if (principal && isResponseOf(principal)) return { refusal: principal };
  if (principal) {
    return { principal, owner: sessionKey({ connection: settings.name, principal }) };
  }
  emit({ type: "refused", reason: "principal" });
  return { refusal: errorAnswer(401, -32000, "Unauthorized") };
}

/** Also one of another package, which is no instance of this `Response`. */
function isResponseOf(value: Principal | Response): value is Response {
  return "headers" in value && isResponse(value);
}

async function serveDelete(
  context: ServeContext,
  request: ServedRequest,
  caller: Caller,
): Promise<Reply> {
  const found = await sessionOf(context, request, caller);
  if ("refusal" in found) return found.refusal;
  const row = found.session.found;
  await context.directory.end(row);
  context.emit({ type: "ended", session: fingerprint(row.hash) });
  return { status: 200, headers: {} };
}

/** The answer to a request that failed; no client sees the error itself. */
function failureAnswer(error: unknown, emit: ServeContext["emit"]): Reply {
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
  // The client has left in the middle of its request; nobody reads the answer.
  if (error instanceof BodyNotRead) return errorAnswer(400, -32700, "Parse error: No body");
  emit({ type: "failed", error });
  return errorAnswer(500, -32603, "Internal server error");
}
