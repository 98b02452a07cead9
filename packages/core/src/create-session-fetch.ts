import { checkedClock, checkOptions, invalid } from "./base/check-option.ts";
import { listen } from "./answer/inbound-stream.ts";
import { resumeStream } from "./answer/resume-stream.ts";
import { guarded } from "./base/observe.ts";
import { exchange } from "./exchange/exchange.ts";
import { pass, passStateless } from "./exchange/pass-on.ts";
import { answerInitialize, answerInitialized, answerProbe } from "./handshake/client-handshake.ts";
import { type Route, routeMessage } from "./route-message.ts";
import {
  announceResumption,
  discard,
  type Answer,
  isFresh,
  type MemoryParts,
  type Pipeline,
  type SessionContext,
} from "./session/session-context.ts";
import { type SessionFetchOptions, sessionFetchChecks } from "./session/session-fetch-options.ts";
import { bindUrl, dropSnapshot, liveSession, resumeHandshake } from "./session/session-life.ts";
import { slotState } from "./session/session-slot.ts";
import { openSecondSession } from "./second-session.ts";
import { refusingTasks } from "./session/task-answer.ts";
import { toolsFor } from "./tools/tool-list.ts";
import {
  emptyAnswer,
  type JsonRpcMessage,
  type JsonRpcRequest,
  isRequest,
  methodOf,
  parseMessage,
  resultAnswer,
  revisionIn,
} from "./wire/json-rpc.ts";
import {
  bodyText,
  fetchOtherUrl,
  isForEndpoint,
  type OutgoingRequest,
  parseEndpointUrl,
  readOutgoingRequest,
  refusalMode,
} from "./wire/server-endpoint.ts";
import { lastFetch } from "./wire/last-fetch.ts";
import { createRequestIds } from "./wire/request-ids.ts";
import { sendingSafeAgain } from "./wire/safe-requests.ts";

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
 * @throws {McpSessionError} `CONNECTION_INVALID`, naming the option. The fetch itself rejects with `SESSION_LOST`,
 *   `CONNECTION_UNAVAILABLE` or `OUTCOME_UNKNOWN`. A failure after the response headers arrives as a JSON-RPC error
 *   with the code in `data.code`; `sessionFailure` finds it.
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management
 */
export function createSessionFetch(options: SessionFetchOptions): typeof globalThis.fetch {
  return createSessionPipe(options).fetch;
}

/** The same with a way for a client of ours, which hands over messages. */
export function createSessionPipe(options: SessionFetchOptions): Pick<Pipeline, "fetch" | "send"> {
  checkOptions(options, sessionFetchChecks);
  return createPipeline(options);
}

type Handler = (request: OutgoingRequest, message: JsonRpcRequest) => Answer | Promise<Answer>;

/** @param questions the questions of another pipeline for the same clients, which share them */
function createPipeline(
  options: SessionFetchOptions,
  questions?: SessionContext["questions"],
): Pipeline {
  const context = createContext(options, questions);
  const { url, state } = context;
  const allowOtherOrigins = options.fetch !== undefined;
  bindToUrl(context);
  const excepted = context.except && openSecondSession(context, context.except);
  const isExcepted = (message: JsonRpcMessage) => excepted?.takes(message) === true;

  const handlers: Readonly<Record<Route, Handler>> = {
    pass(request, message) {
      announceResumption(context);
      const isOfEra = state.phase.name === "stateless" && message && isRequest(message);
      const mayAskAgain = isOfEra && revisionIn(message) !== undefined;
      return (mayAskAgain ? passStateless : pass)(context, request, message);
    },
    "pass-on-session": (request) => pass(context, request, undefined, liveSession(state)),
    close: () => emptyAnswer(204),
    listen: (request) => (context.listening ? listen(context, request) : emptyAnswer(405)),
    resume: (request) => resumeStream(context, request),
    except: (request, message) => excepted!.answer(request, message),
    probe: async (request, message) =>
      (await answerProbe(context, message, request)) ?? (await pass(context, request, message)),
    initialize: (request, message) => answerInitialize(context, message, request),
    initialized: (request) => answerInitialized(context, request),
    list(request, message) {
      announceResumption(context);
      const { id } = message;
      const kept = toolsFor(context, message);
      if (!kept) return exchange(context, message, request);
      return request.take ? { jsonrpc: "2.0", id, result: kept } : resultAnswer(id, kept);
    },
    exchange: (request, message) => exchange(context, message, request),
  };

  const answerClient = context.session === "stateless" && context.memory?.handshakes(context);
  const answer: Pipeline["answer"] = (request, message) => {
    if (answerClient) return answerClient(request, message);
    // Without a probe, or after a refused one, `initialize` goes out again: it succeeds, or its error explains.
    const mayKnow = message === undefined || methodOf(message) !== "initialize";
    const isStateless = mayKnow && isKnownStateless(context);
    const route = routeMessage(request, message, isStateless, isExcepted);
    // Handlers that read a request's fields only get requests.
    return handlers[route](request, message as JsonRpcRequest);
  };
  const fetch: typeof globalThis.fetch = async (input, init) => {
    if (!isForEndpoint(input, url)) {
      return await fetchOtherUrl(context, allowOtherOrigins, input, init);
    }
    const outgoing = readOutgoingRequest(input, init);
    const request = outgoing instanceof Promise ? await outgoing : outgoing;
    request.signal?.throwIfAborted();
    // Only a request that takes messages is answered with one.
    return (await answer(request, parseMessage(bodyText(request) ?? ""))) as Response;
  };
  const send: Pipeline["send"] = async (message, request) => {
    request.signal?.throwIfAborted();
    const headers = new Headers(request.headers);
    const body = JSON.stringify(message);
    return await answer({ ...request, method: "POST", headers, body }, message);
  };
  return { fetch, send, answer, context };
}

/** The context of all parts of the pipeline, with the defaults of the options. */
function createContext(
  options: SessionFetchOptions,
  questions: SessionContext["questions"] = { open: new Map() },
): SessionContext {
  const { initializeMs = 30_000, answerMs = 300_000, startMs = 60_000 } = options.timeouts ?? {};
  const url = parseEndpointUrl(options.url);
  const memory = options.memory as MemoryParts | undefined; // The checks of the options let no other in.
  const { session = "stateful", pinMs } = memory ?? {};
  const isStateless = session === "stateless";
  const last = sendingSafeAgain(lastFetch(options.fetch, answerMs), initializeMs);
  const base = refusingTasks(last, url, options.slot, isStateless);
  const state = slotState(options.slot);
  const emit = guarded(options.onEvent);
  const now = checkedClock(options.now);
  const pinned = isStateless && pinMs !== undefined && { maxAgeMs: pinMs };
  const toolList = { ...options.toolList, ...pinned };
  const waiting = options.waiting?.wrap(base, options.slot) ?? base;
  return {
    ...options,
    url,
    fetch: memory?.wrap(waiting, { url, state, toolList, emit, now }) ?? waiting,
    refusal: refusalMode(options.fetch),
    state,
    session,
    memory,
    ids: createRequestIds(options.lasting?.prefix),
    questions,
    pagesBefore: new Map(),
    emit,
    now,
    recovery: {
      ...options.recovery,
      onLoss: options.recovery?.onLoss ?? "replace",
      resend: options.recovery?.resend ?? "safe",
    },
    toolList,
    initializeMs,
    answerMs,
    startMs,
    fork: (changes, own) => createPipeline({ ...options, ...unsaved, ...changes }, own),
  };
}

/** After this time, in milliseconds (1 day), a server without sessions is asked for one again. */
const statelessMaxAgeMs = 86_400_000;

/** Whether the server reported recently that it has no sessions. */
function isKnownStateless({ state: { phase }, now }: SessionContext): boolean {
  if (phase.name !== "stateless") return false;
  const age = now() - phase.decidedAt;
  return age >= 0 && age <= statelessMaxAgeMs;
}

/** Options of a fetch whose session is not kept. */
const unsaved = {
  ...{ onSession: undefined, findSession: undefined },
  except: undefined,
  listening: undefined,
  memory: undefined,
};

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
  if (snapshot.kind === "session" && context.session === "stateless") return dropSnapshot(state);
  if (snapshot.kind !== "sessionless" || snapshot.initializeResult === undefined) return;
  if (isFresh(context, snapshot.keptAt ?? 0)) resumeHandshake(state, snapshot.initializeResult);
}
