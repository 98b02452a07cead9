import { checkOptions, wholeFrom } from "../base/check-option.ts";
import type { MemoryFeature, MemoryFeatureContext } from "../session/session-fetch-options.ts";
import { slotState } from "../session/session-slot.ts";
import { isRequest, mayMention, parseMessage, revisionIn, versionKey } from "../wire/json-rpc.ts";
import {
  bodyText,
  isSameEndpoint,
  type OutgoingRequest,
  readOutgoingRequest,
  requestUrl,
} from "../wire/server-endpoint.ts";
import { createKeptResults } from "./kept-results.ts";
import type { MemoryCall, SendRequest } from "./memory-call.ts";
import type { MemoryContext } from "./memory-context.ts";
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
  return {
    pinMs,
    wrap(fetch, feature) {
      const context = toMemoryContext(feature, { pinMs, isOwn: false });
      const answer = createModernMemory(
        context,
        createKeptResults(context),
        sendWith(context, fetch),
      );
      return async (input, init) => {
        const pass = () => fetch(input, init);
        const call = await readCall(context, input, init, pass);
        return await (call === undefined ? pass() : answer(call));
      };
    },
  };
}

async function readCall(
  { url }: MemoryContext,
  input: RequestInfo | URL,
  init: RequestInit | undefined,
  pass: () => Promise<Response>,
): Promise<MemoryCall | undefined> {
  // Messages of a session can be large, and are parsed once already.
  if (typeof init?.body === "string" && !mayMention(init.body, versionKey)) return undefined;
  if (!isSameEndpoint(requestUrl(input), url)) return undefined;
  const request = await readOutgoingRequest(input, init);
  const message = parseMessage(bodyText(request) ?? "");
  if (message === undefined || !isRequest(message) || revisionIn(message) === undefined) {
    return undefined;
  }
  return { message, request, pass };
}

export function toMemoryContext(
  { slot, toolList, ...feature }: MemoryFeatureContext,
  own: Pick<MemoryContext, "pinMs" | "isOwn">,
): MemoryContext {
  const { maxAgeMs = 3_600_000, maxLength = 200_000 } = toolList;
  return { ...feature, ...own, state: slotState(slot), maxAgeMs: own.pinMs ?? maxAgeMs, maxLength };
}

/** Sends requests that are not as the client gave them, to the server's URL. */
export function sendWith({ url }: MemoryContext, fetch: typeof globalThis.fetch): SendRequest {
  return ({ method, headers, body, signal, init }: OutgoingRequest) =>
    fetch(url.href, {
      ...init,
      ...{ method, headers },
      ...(body !== undefined && { body }),
      ...(signal && { signal }),
    });
}
