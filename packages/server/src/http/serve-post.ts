import type { AuthInfo } from "@modelcontextprotocol/sdk/server/auth/types.js";
import {
  isInitializeRequest,
  type JSONRPCMessage,
  type JSONRPCRequest,
} from "@modelcontextprotocol/sdk/types.js";
import {
  addressedRequest,
  cancelledRequest,
  instanceOf,
  maxRequestIdLength,
} from "../live/instance-ids.ts";
import type { LiveSession } from "../live/live-session.ts";
import type { Caller, FoundSession } from "../live/session-directory.ts";
import { requestKeyPart } from "../streams/request-record.ts";
import type { ClientBody } from "./client-message.ts";
import { errorAnswer, sessionNotFound, tooMany, unavailable } from "./http-answer.ts";
import { type ServeContext, sessionIdRequired } from "./serve-context.ts";

export interface Post {
  readonly request: Request;
  readonly body: ClientBody;
  readonly caller: Caller;
  readonly authInfo: AuthInfo | undefined;
}

/** JSON characters of a session's `initialize`, which is stored. */
const maxInitializeLength = 65_536;

/** Answers POSTs: `initialize` without a session, all other requests within one. */
export async function servePost(context: ServeContext, post: Post): Promise<Response> {
  const { request, body, caller } = post;
  const refusal = checkMediaTypes(request);
  if (refusal) return refusal;
  if (body.requests.some(({ id }) => String(id).length > maxRequestIdLength)) {
    const message = `Invalid Request: an id must not exceed ${maxRequestIdLength} characters`;
    return errorAnswer(400, -32600, message);
  }
  const sessionId = request.headers.get("mcp-session-id");
  const session = sessionId === null ? undefined : await context.directory.find(sessionId, caller);
  if (session) return await serveInSession(context, post, session);

  const first = body.requests.find(({ method }) => method === "initialize");
  // With an unknown id too: the client starts anew, as it is meant to.
  if (first) return await initialize(context, post, first);
  if (sessionId === null) return sessionIdRequired();
  return await serveUnknown(context, post, sessionId);
}

/** As the SDK's transport does, before anything is stored. */
function checkMediaTypes(request: Request): Response | undefined {
  const accept = request.headers.get("accept") ?? "";
  if (!accept.includes("application/json") || !accept.includes("text/event-stream")) {
    const both = "both application/json and text/event-stream";
    return errorAnswer(406, -32000, `Not Acceptable: Client must accept ${both}`);
  }
  const [type = ""] = (request.headers.get("content-type") ?? "").split(";");
  if (type.trim().toLowerCase() === "application/json") return undefined;
  return errorAnswer(415, -32000, "Unsupported Media Type: Content-Type must be application/json");
}

async function initialize(
  context: ServeContext,
  post: Post,
  first: JSONRPCRequest,
): Promise<Response> {
  const refusal = refuseNewSession(context);
  if (refusal) return refusal;
  const { id } = first;
  if (!isInitializeRequest(first) || post.body.messages.length > 1) {
    return errorAnswer(400, -32600, "Invalid Request: initialize is not as specified", { id });
  }
  if (JSON.stringify(first.params).length > maxInitializeLength) {
    const message = `The params of initialize must not exceed ${maxInitializeLength} characters`;
    return errorAnswer(413, -32600, message, { id });
  }
  const { live, release, stored } = await context.directory.start(post.caller, first.params);
  try {
    const response = await live.handshake.start(toClientPost(post, post.body.value, [first]));
    if (response.ok) return response;
    await context.directory.end(stored);
    return live.closed.aborted ? closedMeanwhile() : response;
  } finally {
    release();
  }
}

function refuseNewSession({ life, emit }: ServeContext): Response | undefined {
  if (life.phase === "serving") return undefined;
  emit({ type: "refused", reason: "draining" });
  return unavailable("This server is shutting down. Start the session on another replica.");
}

async function serveInSession(
  context: ServeContext,
  post: Post,
  session: FoundSession,
): Promise<Response> {
  const { settings, emit, directory } = context;
  await session.stored.renew();
  const { live, release } = await directory.use(session, post.caller, post.request.url);
  try {
    const body = await withoutForeign(context, post.body, live, session);
    if (body === undefined) return new Response(null, { status: 202 });
    const { requests } = post.body;
    if (live.requestsInFlight + requests.length > settings.limits.requestsPerSession) {
      emit({ type: "refused", reason: "too-many-requests" });
      return tooMany("Too many requests in flight (limits.requestsPerSession). Wait for one.");
    }
    const response = await live.post(toClientPost(post, body, requests));
    // Its server was closed in this process, for a deploy say: not the end of the session.
    if (response?.status === 404 && live.closed.aborted && (await session.stored.load())) {
      return closedMeanwhile();
    }
    if (response) return response;
    emit({ type: "refused", reason: "duplicate-request" });
    return errorAnswer(409, -32600, "A request with this id is in flight. Use another id.");
  } finally {
    release();
  }
}

function closedMeanwhile(): Response {
  return unavailable("This session's server was closed here. Send the request again.");
}

function toClientPost(post: Post, body: unknown, requests: readonly JSONRPCRequest[]) {
  return { request: post.request, body, requests, authInfo: post.authInfo };
}

/**
 * The body without the messages for calls on other replicas, which are left for those replicas;
 * `undefined` when nothing remains.
 */
async function withoutForeign(
  context: ServeContext,
  body: ClientBody,
  live: LiveSession,
  { stored }: FoundSession,
): Promise<unknown> {
  const kept: JSONRPCMessage[] = [];
  for (const message of body.messages) {
    const instance = await otherInstance(context, message, live, stored.hash);
    if (instance === undefined) kept.push(message);
    else await context.mailbox.leave(stored, instance, message);
  }
  if (kept.length === body.messages.length) return body.value;
  return kept.length === 0 ? undefined : kept;
}

async function otherInstance(
  { log }: ServeContext,
  message: JSONRPCMessage,
  live: LiveSession,
  hash: string,
): Promise<string | undefined> {
  const addressed = addressedRequest(message);
  const addressee = addressed === undefined ? undefined : instanceOf(addressed);
  if (addressee !== undefined) return addressee === live.instance ? undefined : addressee;
  const cancelled = cancelledRequest(message);
  if (cancelled === undefined || live.isServing(cancelled)) return undefined;
  const { stored } = await log.find(hash, requestKeyPart(cancelled));
  return stored && stored.record.open.length > 0 ? stored.record.instance : undefined;
}

async function serveUnknown(
  context: ServeContext,
  post: Post,
  unknownId: string,
): Promise<Response> {
  const { adopt, directory } = context;
  if (!adopt || post.body.requests.length === 0) return sessionNotFound();
  const refusal = refuseNewSession(context);
  if (refusal) return refusal;
  const adopted = await adopt(unknownId, post.request, post.caller);
  const response = await serveInSession(context, post, adopted).catch(async (error: unknown) => {
    // Its id was given to nobody.
    await directory.end(adopted.stored).catch(() => {});
    throw error;
  });
  const headers = new Headers(response.headers);
  headers.set("mcp-session-id", adopted.sessionId);
  return new Response(response.body, { status: response.status, headers });
}
