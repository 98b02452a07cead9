import { checkOptions, oneOf, wholeFrom } from "../base/check-option.ts";
import type { MemoryContext, MemoryParts } from "../session/session-context.ts";
import type { ServerMemory } from "../session/session-fetch-options.ts";
import type { KeptResult } from "../session/session-snapshot.ts";
import type { KeptMethod } from "../session/snapshot-shape.ts";
import {
  isRequest,
  type JsonRpcRequest,
  mayMention,
  parseMessage,
  resultAnswer,
  revisionIn,
  versionKey,
} from "../wire/json-rpc.ts";
import { rewriteRefusal } from "../wire/read-answer.ts";
import {
  bodyText,
  isForEndpoint,
  type OutgoingRequest,
  readOutgoingRequest,
} from "../wire/server-endpoint.ts";
import { createAfterRefusal, type MemoryCall, type SendRequest } from "./after-refusal.ts";
import { clientOf, createKeptResults, keyOf } from "./kept-results.ts";
import { observeResults } from "./observe-results.ts";
import { createOwnHandshakes } from "./own-handshakes.ts";
import { withParamHeaders } from "./param-headers.ts";

/** Options of `createServerMemory`. */
export interface ServerMemoryOptions {
  /**
   * How long to keep discovery, the handshake and lists, in milliseconds, whatever the server allows.
   * @default as long as the server says
   */
  readonly pinMs?: number | undefined;
  /**
   * Whether the session fetch keeps a session (`"stateful"`). With `"stateless"` clients keep their own sessions, and
   * the memory also keeps the handshake with a server without sessions.
   * @default "stateful"
   */
  readonly session?: "stateful" | "stateless" | undefined;
}

/**
 * Keeps the discovery and the lists of servers without sessions in the slot's snapshot, so that the next
 * step's first request is its first call. For `createSessionFetch({ memory })`.
 *
 * @throws {McpSessionError} `CONNECTION_INVALID`, naming the option
 * @see https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/caching
 */
export function createServerMemory(options: ServerMemoryOptions = {}): ServerMemory {
  checkOptions(options, { pinMs: wholeFrom(1), session: oneOf("stateful", "stateless") });
  const { pinMs, session = "stateful" } = options;
  const memory: MemoryParts = {
    feature: "ServerMemory",
    pinMs,
    session,
    handshakes: createOwnHandshakes,
    wrap(fetch, given) {
      const context = { ...given, pinMs };
      const answer = answerFromKept(context, sendWith(given, fetch));
      return async (input, init) => {
        const pass = () => fetch(input, init);
        const call = await readCall(context, input, init, pass);
        return await (call === undefined ? pass() : answer(call));
      };
    },
  };
  return memory;
}

/** A request of a revision without sessions. With `pinMs` lists of older ones count, too. */
async function readCall(
  { url, pinMs }: MemoryContext,
  input: Parameters<typeof globalThis.fetch>[0],
  init: RequestInit | undefined,
  pass: () => Promise<Response>,
): Promise<MemoryCall | undefined> {
  const isPinned = pinMs !== undefined;
  // Messages of a session can be large, and are parsed once already.
  const mayConcern = (body: string) =>
    mayMention(body, versionKey) || (isPinned && mayMention(body, '/list"'));
  const body = init?.body;
  // At once without a body: a client that listens would not wait, and open another stream.
  if (typeof body === "string" ? !mayConcern(body) : body == null && !(input instanceof Request))
    return undefined;
  if (!isForEndpoint(input, url)) return undefined;
  const request = await readOutgoingRequest(input, init);
  const message = parseMessage(bodyText(request) ?? "");
  if (message === undefined || !isRequest(message)) return undefined;
  // The session fetch keeps their tools.
  const isOtherList = /^(?:prompts|resources)\/(?:templates\/)?list$/.test(message.method);
  const isPinnedList = isPinned && isOtherList && !request.headers.has("mcp-session-id");
  const isMeant = revisionIn(message) !== undefined || isPinnedList;
  return isMeant ? { message, request, pass } : undefined;
}

/** Sends requests that are not as the client gave them, to the server's URL. */
function sendWith(
  { url }: Pick<MemoryContext, "url">,
  fetch: typeof globalThis.fetch,
): SendRequest {
  return ({ method, headers, body, signal, init }: OutgoingRequest) =>
    fetch(url.href, {
      ...init,
      ...{ method, headers },
      ...(body !== undefined && { body }),
      ...(signal && { signal }),
    });
}

/** With these a server refuses what is not of its revision. */
const refusing: ReadonlySet<number> = new Set([400, 404, 405]);

/**
 * Answers requests of revisions without sessions from what is kept, and keeps what the server allows. If the
 * server refuses the headers or the revision of a request that was made with kept results, they are asked for
 * again, and the request goes out once more.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/caching
 */
function answerFromKept(
  context: MemoryContext,
  send: SendRequest,
): (call: MemoryCall) => Promise<Response> {
  const results = createKeptResults(context);
  /** Methods with results that clients of this process got, and go on with. */
  const served = new Set<KeptMethod>();
  const observe = (response: Response, message: JsonRpcRequest, since?: number) => {
    const key = keyOf(message, clientOf(message));
    return observeResults(context, results, response, message, { key, since });
  };
  const refusals = createAfterRefusal(context, results, { send, observe });

  return async (call) => {
    const { message, request } = call;
    const client = clientOf(message);
    const key = keyOf(message, client);
    const kept = key && results.find(key);
    if (kept) {
      request.signal?.throwIfAborted();
      served.add(kept.method);
      return resultAnswer(message.id, resultOf(kept, context.now()));
    }
    const tools = results.tools(client);
    const basis = refusals.basis(client, tools.length > 0 || served.has("tools/list"));
    const isBuiltOnKept = served.size > 0 || results.any(client);
    const own = withParamHeaders(request, message, tools);
    const since = results.evictions;
    const response = await (own === request ? call.pass() : send(own));
    const isRefused = refusing.has(response.status) && message.method !== "server/discover";
    if (!isRefused || !isBuiltOnKept) return observe(response, message, since);
    let text = "";
    const refused = await rewriteRefusal(response, (read) => (text = read));
    const again = await refusals.renew(call, basis, text);
    return observe(again ? await send(again) : refused, message);
  };
}

/** The result with what is left of its time. */
function resultOf({ result, until }: KeptResult, now: number): Record<string, unknown> {
  const { ttlMs } = result;
  return typeof ttlMs === "number" ? { ...result, ttlMs: Math.min(ttlMs, until - now) } : result;
}
