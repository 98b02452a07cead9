import { checkOptions, wholeFrom } from "../base/check-option.ts";
import type { MemoryContext, MemoryParts } from "../session/session-context.ts";
import type { MemoryFeature } from "../session/session-fetch-options.ts";
import { isRequest, mayMention, parseMessage, revisionIn, versionKey } from "../wire/json-rpc.ts";
import {
  bodyText,
  isForEndpoint,
  type OutgoingRequest,
  readOutgoingRequest,
} from "../wire/server-endpoint.ts";
import { createOwnHandshakes } from "./own-handshakes.ts";
import { createKeptResults } from "./kept-results.ts";
import type { MemoryCall, SendRequest } from "./memory-call.ts";
import { createModernMemory } from "./modern-memory.ts";

/** Options of `createServerMemory`. */
export interface ServerMemoryOptions {
  /**
   * Keeps discovery, the handshake and lists for this long, in milliseconds, on the application's word,
   * whatever the server allows. @default as long as the server says
   */
  readonly pinMs?: number | undefined;
}

/** Keeps what a server allows to keep; from `createServerMemory`. */
export interface ServerMemory extends MemoryFeature {
  /** As given to `createServerMemory`, in milliseconds. */
  readonly pinMs?: number | undefined;
}

/**
 * Keeps the discovery and the lists of servers without sessions in the slot's snapshot, so that the next
 * step's first request is its first call. For `createSessionFetch({ memory })`.
 *
 * @throws {McpSessionError} `CONNECTION_INVALID`, naming the option
 * @see https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/caching
 */
export function createServerMemory(options: ServerMemoryOptions = {}): ServerMemory {
  checkOptions(options, { pinMs: wholeFrom(1) });
  const { pinMs } = options;
  const memory: MemoryParts & ServerMemory = {
    feature: "ServerMemory",
    pinMs,
    handshakes: createOwnHandshakes,
    wrap(fetch, given) {
      const context = { ...given, pinMs };
      const answer = createModernMemory(
        context,
        createKeptResults(context),
        sendWith(given, fetch),
      );
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
  if (typeof init?.body === "string" && !mayConcern(init.body)) return undefined;
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
