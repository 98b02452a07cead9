import type { AuthInfo } from "@modelcontextprotocol/sdk/server/auth/types.js";
import {
  isInitializeRequest,
  type JSONRPCMessage,
  type JSONRPCRequest,
} from "@modelcontextprotocol/sdk/types.js";
import type { ClientBody } from "./client-message.ts";
import { errorAnswer, sessionNotFound, unavailable } from "./http-answer.ts";
import type { LiveSession } from "../live/live-session.ts";
import { requestKeyPart } from "../streams/request-record.ts";
import { addressedRequest, cancelledRequest, instanceOf } from "../live/server-link.ts";
import type { Adopt } from "./adopt-session.ts";
import type {
  Caller,
  FoundSession,
  HandlerParts,
  SessionDirectory,
} from "../live/session-directory.ts";

export interface Post {
  readonly request: Request;
  readonly body: ClientBody;
  readonly caller: Caller;
  readonly authInfo: AuthInfo | undefined;
}

/** JSON characters of what a session keeps of its `initialize`. */
const maxInitializeLength = 65_536;
/** Characters of a request id, which becomes part of a key. */
const maxRequestIdLength = 256;

export interface ServePostOptions {
  readonly parts: HandlerParts;
  readonly directory: SessionDirectory;
  /** What an unknown id gets, if not 404. */
  readonly adopt: Adopt | undefined;
  /** Seconds after which to come back, while no new sessions are taken. */
  readonly drainingFor: () => number | undefined;
}

/** Answers POSTs: `initialize` without a session, everything else within one. */
export function createServePost(options: ServePostOptions): (post: Post) => Promise<Response> {
  const { parts, directory, adopt, drainingFor } = options;
  const { settings, emit } = parts;

  function refusalOfNew(): Response | undefined {
    const retryAfter = drainingFor();
    if (retryAfter === undefined) return undefined;
    emit({ type: "refused", reason: "draining" });
    return unavailable("This server is shutting down and starts no new sessions.", retryAfter);
  }

  async function initialize(post: Post, first: JSONRPCRequest): Promise<Response> {
    const refusal = refusalOfNew();
    if (refusal) return refusal;
    if (!isInitializeRequest(first) || post.body.messages.length > 1) {
      return errorAnswer(400, -32600, "Invalid Request: initialize is not as specified", {
        id: first.id,
      });
    }
    if (JSON.stringify(first.params).length > maxInitializeLength) {
      return errorAnswer(413, -32600, "The parameters of initialize are too large", {
        id: first.id,
      });
    }
    const { live, release, hash } = await directory.start(post.caller, first.params);
    try {
      const response = await live.initialize(toClientPost(post, post.body.value, [first]));
      if (response.ok) return response;
      await directory.remove({ hash });
      return live.closed.aborted ? closedMeanwhile() : response;
    } finally {
      release();
    }
  }

  async function inSession(post: Post, session: FoundSession): Promise<Response> {
    await session.stored.renew();
    const { live, release } = await directory.use(session, post.caller, post.request.url);
    try {
      const body = await withoutForeign(post.body, live, session);
      if (body === undefined) return new Response(null, { status: 202 });
      const { requests } = post.body;
      if (live.requestsInFlight + requests.length > settings.limits.requestsPerSession) {
        emit({ type: "refused", reason: "too-many-requests" });
        return errorAnswer(429, -32000, "Too many requests of this session are in flight", {
          headers: { "Retry-After": "1" },
        });
      }
      const response = await live.post(toClientPost(post, body, requests));
      // Its server was closed in this process, for a deploy say: not the end of the session.
      if (response?.status === 404 && live.closed.aborted && (await session.stored.load())) {
        return closedMeanwhile();
      }
      if (response) return response;
      emit({ type: "refused", reason: "duplicate-request" });
      return errorAnswer(409, -32600, "A request with this id is in flight in this session");
    } finally {
      release();
    }
  }

  /**
   * The body without the messages for calls that run on another replica, which are left for it;
   * `undefined` when nothing remains.
   */
  async function withoutForeign(
    body: ClientBody,
    live: LiveSession,
    session: FoundSession,
  ): Promise<unknown> {
    const kept: JSONRPCMessage[] = [];
    for (const message of body.messages) {
      const instance = await otherInstance(message, live, session);
      if (instance === undefined) kept.push(message);
      else await parts.mailbox.leave(session, instance, message);
    }
    if (kept.length === body.messages.length) return body.value;
    return kept.length === 0 ? undefined : kept;
  }

  async function otherInstance(
    message: JSONRPCMessage,
    live: LiveSession,
    { hash }: FoundSession,
  ): Promise<string | undefined> {
    const addressed = addressedRequest(message);
    const addressee = addressed === undefined ? undefined : instanceOf(addressed);
    if (addressee !== undefined) return addressee === live.instance ? undefined : addressee;
    const cancelled = cancelledRequest(message);
    if (cancelled === undefined || live.isServing(cancelled)) return undefined;
    const { stored } = await parts.log.find(hash, requestKeyPart(cancelled));
    return stored && stored.record.open.length > 0 ? stored.record.instance : undefined;
  }

  return async (post) => {
    const { request, body, caller } = post;
    const refusal = checkMediaTypes(request);
    if (refusal) return refusal;
    if (body.requests.some(({ id }) => String(id).length > maxRequestIdLength)) {
      return errorAnswer(400, -32600, "Invalid Request: the request id is too long");
    }
    const sessionId = request.headers.get("mcp-session-id");
    const session = sessionId === null ? undefined : await directory.find(sessionId, caller);
    if (session) return await inSession(post, session);

    const first = body.requests.find(({ method }) => method === "initialize");
    // Also with an id that nobody knows: the client starts anew, as it is meant to.
    if (first) return await initialize(post, first);
    if (sessionId === null) {
      return errorAnswer(400, -32000, "Bad Request: Mcp-Session-Id header is required");
    }
    if (!adopt || body.requests.length === 0) return sessionNotFound();
    const refusalToAdopt = refusalOfNew();
    if (refusalToAdopt) return refusalToAdopt;
    const adopted = await adopt(sessionId, request, caller);
    const response = await inSession(post, adopted).catch(async (error: unknown) => {
      // Its id was given to nobody.
      await directory.remove(adopted).catch(() => {});
      throw error;
    });
    const headers = new Headers(response.headers);
    headers.set("mcp-session-id", adopted.sessionId);
    return new Response(response.body, { status: response.status, headers });
  };
}

function closedMeanwhile(): Response {
  return unavailable("The server of this session was closed in this process.", 1);
}

function toClientPost(post: Post, body: unknown, requests: readonly JSONRPCRequest[]) {
  return { request: post.request, body, requests, authInfo: post.authInfo };
}

/** As the SDK's transport does, before anything is stored. */
function checkMediaTypes(request: Request): Response | undefined {
  const accept = request.headers.get("accept") ?? "";
  if (!accept.includes("application/json") || !accept.includes("text/event-stream")) {
    return errorAnswer(
      406,
      -32000,
      "Not Acceptable: Client must accept both application/json and text/event-stream",
    );
  }
  const [type = ""] = (request.headers.get("content-type") ?? "").split(";");
  if (type.trim().toLowerCase() === "application/json") return undefined;
  return errorAnswer(415, -32000, "Unsupported Media Type: Content-Type must be application/json");
}
