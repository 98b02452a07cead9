import { checkedClock, checkOptions, invalid } from "./base/check-option.ts";
import { guarded } from "./base/observe.ts";
import { listen, resumeStream } from "./answer/inbound-stream.ts";
import { askedBy } from "./answer/server-requests.ts";
import { exchange } from "./exchange/exchange.ts";
import { answerInitialize, answerInitialized, answerProbe } from "./handshake/client-handshake.ts";
import { type Route, routeMessage } from "./route-message.ts";
import { bufferAnswer, responseForClient, toResponse } from "./session/buffered-answer.ts";
import {
  announceResumption,
  discard,
  isFresh,
  sendOn,
  type SessionContext,
} from "./session/session-context.ts";
import type { SessionEvent } from "./session/session-event.ts";
import { type SessionFetchOptions, sessionFetchChecks } from "./session/session-fetch-options.ts";
import {
  bindUrl,
  isCurrent,
  liveSession,
  resumeHandshake,
  setClientParams,
} from "./session/session-life.ts";
import type { LiveSession } from "./session/slot-state.ts";
import { type SessionSlot, slotState } from "./session/session-slot.ts";
import { toolsFor } from "./tools/tool-list.ts";
import {
  emptyAnswer,
  isRequest,
  type JsonRpcMessage,
  type JsonRpcRequest,
  methodOf,
  paramsOf,
  parseMessage,
  resultAnswer,
} from "./wire/json-rpc.ts";
import {
  bodyText,
  fetchOtherUrl,
  isSameEndpoint,
  type OutgoingRequest,
  parseEndpointUrl,
  readOutgoingRequest,
  refusalMode,
  requestUrl,
} from "./wire/server-endpoint.ts";
import { createRequestIds } from "./wire/request-ids.ts";

/**
 * Creates a `fetch` that keeps one MCP session across clients and processes. Any MCP client that accepts
 * a `fetch` can use it, and several clients may share one.
 *
 * With a snapshot in the slot, the fetch answers the client's handshake from it. The first request on the
 * network is then the client's first call. Without a snapshot, the handshake goes out, and the slot keeps
 * its result. If the server no longer knows the session, the fetch replaces it once.
 *
 * @example
 * const slot = createSessionSlot(saved && parseSessionSnapshot(saved));
 * const client = await createMCPClient({
 *   transport: { type: "http", url, fetch: createSessionFetch({ url, slot }) },
 * });
 *
 * @throws {McpSessionError} `CONNECTION_INVALID`, naming the option. The fetch
 *   itself rejects with `FETCH_REQUIRED`, `REDIRECT_REFUSED`, `SESSION_LOST`, `ERA_UNSUPPORTED`
 *   or `CONNECTION_UNAVAILABLE`; failures after the response headers arrive as a JSON-RPC error
 *   whose `data.code` is `OUTCOME_UNKNOWN`.
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management
 */
export function createSessionFetch(options: SessionFetchOptions): typeof globalThis.fetch {
  checkOptions(options, sessionFetchChecks);
  return createPipeline(options).fetch;
}

interface Pipeline {
  readonly fetch: typeof globalThis.fetch;
  /** Answers a request to the connection's URL, with the JSON-RPC message in its body, if it is one. */
  readonly answer: (request: OutgoingRequest, message?: JsonRpcMessage) => Promise<Response>;
  readonly context: SessionContext;
}

type Handler = (request: OutgoingRequest, message: JsonRpcRequest) => Response | Promise<Response>;

/** @param questions the questions of another pipeline for the same clients, which share them */
function createPipeline(
  options: SessionFetchOptions,
  questions?: SessionContext["questions"],
): Pipeline {
  const context = createContext(options, questions);
  const { url, state } = context;
  const { statelessMaxAgeMs = 86_400_000 } = options;
  const allowOtherOrigins = options.allowOtherOrigins ?? options.fetch !== undefined;
  bindToUrl(context);
  const { except } = options;
  const forExcepted =
    except && createPipeline(withoutSaving(options, except.slot), context.questions);
  const isExcepted = (message: JsonRpcMessage) => {
    if (forExcepted === undefined) return false;
    return isRequest(message) ? except!.matches(message) : owns(forExcepted.context, message);
  };

  const handlers: Readonly<Record<Route, Handler>> = {
    pass(request, message) {
      announceResumption(context);
      return pass(context, request, message);
    },
    "pass-on-session": (request) => pass(context, request, undefined, liveSession(state)),
    close: () => emptyAnswer(204),
    listen: (request) => (options.listen ? listen(context, request) : emptyAnswer(405)),
    resume: (request) => resumeStream(context, request),
    except(request, message) {
      const own = forExcepted!.context.state;
      if (own.clientParams === undefined) setClientParams(own, state.clientParams);
      return forExcepted!.answer(request, message);
    },
    probe: async (request, message) =>
      (await answerProbe(context, message, request)) ?? (await pass(context, request, message)),
    initialize: (request, message) => answerInitialize(context, message, request),
    initialized: (request) => answerInitialized(context, request),
    list(request, message) {
      announceResumption(context);
      const kept = toolsFor(context, message);
      return kept ? resultAnswer(message.id, kept) : exchange(context, message, request);
    },
    exchange: (request, message) => exchange(context, message, request),
  };

  let hasProbed = false;
  const answer: Pipeline["answer"] = async (request, message) => {
    const method = message && methodOf(message);
    hasProbed ||= method === "server/discover";
    // For a client that does not probe, `initialize` goes out again: it succeeds, or its error explains.
    const mayKnow = hasProbed || method !== "initialize";
    const isStateless = mayKnow && isKnownStateless(context, statelessMaxAgeMs);
    const route = routeMessage(request, message, isStateless, isExcepted);
    // Handlers that read a request's fields only get requests.
    return await handlers[route](request, message as JsonRpcRequest);
  };
  const fetch: typeof globalThis.fetch = async (input, init) => {
    if (!isSameEndpoint(requestUrl(input), url)) {
      return await fetchOtherUrl(context, allowOtherOrigins, input, init);
    }
    const request = await readOutgoingRequest(input, init);
    request.signal?.throwIfAborted();
    return await answer(request, parseMessage(bodyText(request) ?? ""));
  };
  return { fetch, answer, context };
}

/** The context of all parts of the pipeline, with the defaults of the options. */
function createContext(
  options: SessionFetchOptions,
  questions: SessionContext["questions"] = { open: new Map() },
): SessionContext {
  const { initializeMs = 30_000, startMs = 60_000, answerMs = 300_000 } = options.timeouts ?? {};
  const base: typeof fetch = (input, init) => (options.fetch ?? globalThis.fetch)(input, init);
  return {
    ...options,
    url: parseEndpointUrl(options.url),
    fetch: options.waiting?.wrap(base) ?? base,
    redirect: options.redirect ?? "refuse",
    refusal: refusalMode(options.fetch),
    state: slotState(options.slot),
    ids: createRequestIds(),
    questions,
    pagesBefore: new Map(),
    emit: guarded(options.onEvent),
    now: checkedClock(options.now),
    recover: options.recover ?? true,
    resend: options.resend ?? "safe",
    toolList: options.toolList ?? {},
    initializeMs,
    startMs,
    answerMs,
    createStartFetch: (slot) => createPipeline(forStartHook(options, slot)).fetch,
  };
}

/** Lets a request through unchanged, on a session or on none. */
async function pass(
  context: SessionContext,
  request: OutgoingRequest,
  message?: JsonRpcMessage,
  live?: LiveSession,
): Promise<Response> {
  const response = await sendOn(context, live, request, message && methodOf(message));
  if (!response.ok && live !== undefined) return toResponse(await bufferAnswer(response, live));
  return responseForClient(response);
}

/** Whether the server reported recently that it has no sessions. */
function isKnownStateless({ state: { phase }, now }: SessionContext, maxAgeMs: number): boolean {
  if (phase.name !== "stateless") return false;
  const age = now() - phase.decidedAt;
  return age >= 0 && age <= maxAgeMs;
}

/** Whether a client's answer or notification belongs to this session. */
function owns(context: SessionContext, message: JsonRpcMessage): boolean {
  if (!("method" in message)) {
    const asking = askedBy(context, message);
    return asking !== undefined && isCurrent(context.state, asking);
  }
  const isCancellation = message.method === "notifications/cancelled";
  return (
    isCancellation && context.ids.findByClientId(paramsOf(message)?.["requestId"]) !== undefined
  );
}

/** Options of a fetch whose session is not kept. */
const unsaved = { onSession: undefined, except: undefined, listen: false };

/** Options for the excepted requests: their session is not saved, and only its trouble is reported. */
function withoutSaving(
  { onEvent, ...options }: SessionFetchOptions,
  slot: SessionSlot,
): SessionFetchOptions {
  const reported = ["lost", "restored", "ids-vary", "recovered", "start-failed", "notification"];
  const emit =
    onEvent && ((event: SessionEvent) => reported.includes(event.type) && onEvent(event));
  return { ...options, ...unsaved, slot, onEvent: emit };
}

/** Options for the client of `onStart`: its fetch makes no session, and reports nothing twice. */
function forStartHook(options: SessionFetchOptions, slot: SessionSlot): SessionFetchOptions {
  return { ...options, ...unsaved, slot, onStart: undefined, onEvent: undefined, recover: false };
}

/** Binds the slot to this URL. A snapshot for another URL is not used. */
function bindToUrl(context: SessionContext): void {
  const { state, url } = context;
  if (state.url !== undefined && state.url !== url.href) {
    throw invalid(
      "slot",
      `slot is already in use for another URL than the given one at ${url.origin}. Create a slot for each connection.`,
    );
  }
  bindUrl(state, url);
  const { snapshot } = state;
  if (snapshot === undefined) return;
  if (snapshot.url !== url.href) return discard(context, "url");
  if (snapshot.kind !== "sessionless" || snapshot.initializeResult === undefined) return;
  if (isFresh(context, snapshot.keptAt ?? 0)) resumeHandshake(state, snapshot.initializeResult);
}
