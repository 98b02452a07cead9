import {
  checkedClock,
  checkedLater,
  checkFunction,
  checkOptions,
  group,
  invalid,
  type OptionChecks,
  wholeFrom,
} from "../base/check-option.ts";
import { guarded } from "../base/observe.ts";
import type { SessionEvent } from "../session/session-event.ts";
import type { ToolListOptions } from "../session/session-fetch-options.ts";
import { bindUrl, saveSnapshot } from "../session/session-life.ts";
import type { SessionSlot } from "../session/session-slot.ts";
import { refusingTasks } from "../session/task-answer.ts";
import {
  emptyAnswer,
  isRequest,
  methodNotFoundAnswer,
  parseMessage,
  revisionIn,
} from "../wire/json-rpc.ts";
import {
  bodyText,
  fetchOtherUrl,
  isSameEndpoint,
  parseEndpointUrl,
  readOutgoingRequest,
  requestUrl,
} from "../wire/server-endpoint.ts";
import { createHandshakeMemory } from "./handshake-memory.ts";
import { createKeptHandshake } from "./kept-handshake.ts";
import { createKeptResults } from "./kept-results.ts";
import type { MemoryContext } from "./memory-context.ts";
import { createModernMemory } from "./modern-memory.ts";
import { sendWith, type ServerMemory, toMemoryContext } from "./server-memory.ts";

/** Options of `createMemoryFetch`. */
export interface MemoryFetchOptions {
  /** The server's URL. Only requests to exactly this URL are answered from memory. */
  url: string | URL;
  /** Holds what is kept; from `createSessionSlot`. */
  slot: SessionSlot;
  /**
   * Sends the requests. If you pass one, you also vouch for requests to other origins, which otherwise fail
   * with `FETCH_REQUIRED`. @default globalThis.fetch
   */
  fetch?: typeof globalThis.fetch | undefined;
  /** From `createServerMemory`. @default one that keeps as long as the server says */
  memory?: ServerMemory | undefined;
  /** Limits the age of a handshake and a tool list of revisions with sessions, and the size of any result. */
  toolList?: ToolListOptions | undefined;
  /** Gets the events. */
  onEvent?: ((event: SessionEvent) => void) | undefined;
  /** The clock, in milliseconds since 1970-01-01 UTC. @default Date.now */
  now?: (() => number) | undefined;
}

const memoryFetchChecks: OptionChecks<MemoryFetchOptions> = {
  url: checkedLater,
  slot: checkedLater,
  fetch: checkFunction,
  memory: checkedLater,
  toolList: group({ maxAgeMs: wholeFrom(0), maxLength: wholeFrom(0) }),
  onEvent: checkFunction,
  now: checkFunction,
};

/**
 * Creates a `fetch` that keeps what a server without sessions allows to keep, so that a client in a new
 * process sends its call alone. Any MCP client that accepts a `fetch` can use it, and several clients may
 * share one. Traffic with a server that names a session passes unchanged.
 *
 * @example
 * const slot = createSessionSlot(saved && parseSessionSnapshot(saved));
 * const client = await createMCPClient({
 *   transport: { type: "http", url, fetch: createMemoryFetch({ url, slot }) },
 * });
 *
 * @throws {McpSessionError} `CONNECTION_INVALID`, naming the option. The fetch itself rejects with
 *   `FETCH_REQUIRED` for other origins
 */
export function createMemoryFetch(options: MemoryFetchOptions): typeof globalThis.fetch {
  checkOptions(options, memoryFetchChecks);
  const { slot, memory, toolList = {}, onEvent } = options;
  const url = parseEndpointUrl(options.url);
  const base = refusingTasks((...own) => (options.fetch ?? globalThis.fetch)(...own), url, slot);
  const feature = { url, slot, toolList, emit: guarded(onEvent), now: checkedClock(options.now) };
  const context = toMemoryContext(feature, { pinMs: memory?.pinMs, isOwn: true });
  useSlot(context);
  const results = createKeptResults(context);
  const send = sendWith(context, base);
  const answerModern = createModernMemory(context, results, send);
  const handshake = createKeptHandshake(context, results);
  const answerSession = createHandshakeMemory(context, results, handshake, send);
  const endpoint = { url, fetch: base, redirect: "refuse" } as const;

  return async (input, init) => {
    if (!isSameEndpoint(requestUrl(input), url)) {
      return await fetchOtherUrl(endpoint, options.fetch !== undefined, input, init);
    }
    const pass = () => base(input, init);
    const request = await readOutgoingRequest(input, init);
    if (request.headers.has("mcp-session-id")) return await pass();
    // A step is too short to listen.
    const listens = request.method === "GET" && !request.headers.has("last-event-id");
    if (listens && handshake.result) return emptyAnswer(405);
    const message = request.method === "POST" ? parseMessage(bodyText(request) ?? "") : undefined;
    if (message === undefined) return await pass();
    if (!isRequest(message) || revisionIn(message) === undefined) {
      return await answerSession({ message, request, pass });
    }
    const { id, method } = message;
    if (method !== "server/discover") return await answerModern({ message, request, pass });
    if (handshake.refusesProbe) return methodNotFoundAnswer(id);
    return handshake.observeProbe(await answerModern({ message, request, pass }), id);
  };
}

/** Binds the slot to the URL. A snapshot for another URL is not used, and one of another kind is replaced. */
function useSlot({ state, url, emit }: MemoryContext): void {
  if (state.url !== undefined && state.url !== url.href) {
    throw invalid(
      "slot",
      `slot is already in use for another URL than the given one at ${url.origin}. Create a slot for each connection.`,
    );
  }
  bindUrl(state, url);
  if (state.snapshot === undefined || state.snapshot.url === url.href) return;
  saveSnapshot(state, undefined);
  emit({ type: "discarded", reason: "url" });
}
