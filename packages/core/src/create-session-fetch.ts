import { bufferAnswer, toResponse } from "./session/buffered-answer.ts";
import { createClientHandshake } from "./handshake/client-handshake.ts";
import { maxTimerMs } from "./base/bounded-wait.ts";
import { parseEndpointUrl } from "./wire/endpoint-url.ts";
import { createExchange } from "./exchange/exchange.ts";
import { createHandshake } from "./handshake/handshake.ts";
import { createInboundStream } from "./answer/inbound-stream.ts";
import { isRecord } from "./base/json-values.ts";
import { isRequest, type JsonRpcMessage, parseMessage } from "./wire/json-rpc.ts";
import { emptyAnswer, resultAnswer } from "./wire/local-answer.ts";
import { McpSessionError } from "./base/mcp-session-error.ts";
import { createFetchForOtherUrls } from "./wire/other-urls.ts";
import { bodyText, readOutgoingRequest, requestUrl } from "./wire/outgoing-request.ts";
import { createSendOwnMessage } from "./session/own-message.ts";
import { relistTools } from "./tools/relist-tools.ts";
import { createNotify } from "./answer/notify.ts";
import { createRequestIds } from "./wire/request-ids.ts";
import { createServerRequests, type ServerRequests } from "./answer/server-requests.ts";
import { createSendToEndpoint } from "./wire/server-endpoint.ts";
import { guarded } from "./base/observe.ts";
import type { EmitSessionEvent } from "./session/session-event.ts";
import type { SessionFetchOptions } from "./session-fetch-options.ts";
import { headersForClient, headersForSession } from "./session/session-headers.ts";
import { type LiveSession, sameSession } from "./session/live-session.ts";
import {
  saveSnapshot,
  type SessionSlot,
  slotState,
  type SlotState,
} from "./session/session-slot.ts";
import { runStartHook } from "./handshake/start-hook.ts";
import { endSession } from "./handshake/end-session.ts";
import { createToolListKeeper } from "./tools/tool-list.ts";

/**
 * Creates a `fetch` that keeps one MCP session across clients and processes. Any MCP client that
 * accepts a `fetch` can use it, and several may share one.
 *
 * With a snapshot in the slot the client's handshake is answered from it, so that the first
 * request on the network is the client's first call. Without one the handshake goes out and its
 * result is captured into the slot. A session that the server no longer knows is replaced once.
 *
 * @example
 * const slot = createSessionSlot(saved && parseSessionSnapshot(saved));
 * const client = await createMCPClient({
 *   transport: { type: "http", url, fetch: createSessionFetch({ url, slot }) },
 * });
 *
 * @throws {McpSessionError} `CONNECTION_INVALID` when `url` is not an http(s) URL. The fetch
 *   itself rejects with `FETCH_REQUIRED`, `REDIRECT_REFUSED`, `SESSION_LOST`, `ERA_UNSUPPORTED`
 *   or `CONNECTION_UNAVAILABLE`; failures after the response headers arrive as a JSON-RPC error
 *   whose `data.code` is `OUTCOME_UNKNOWN`.
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management
 */
export function createSessionFetch(options: SessionFetchOptions): typeof globalThis.fetch {
  return createPipeline(options).fetch;
}

interface Pipeline {
  readonly fetch: typeof globalThis.fetch;
  /** Whether a client's answer or notification belongs to this pipeline's session. */
  readonly owns: (message: JsonRpcMessage) => boolean;
}

/** @param questions what the pipeline shares with another one that serves the same clients */
function createPipeline(options: SessionFetchOptions, questions?: ServerRequests): Pipeline {
  const url = parseEndpointUrl(options.url);
  const now = options.now ?? Date.now;
  const emit = guarded(options.onEvent);
  const state = slotState(options.slot);
  const baseFetch: typeof globalThis.fetch = (input, init) =>
    (options.fetch ?? globalThis.fetch)(input, init);

  bindToUrl(state, url, emit);
  const ids = createRequestIds();
  const send = createSendToEndpoint({
    url,
    fetch: baseFetch,
    redirect: options.redirect ?? "refuse",
  });
  const fetchOther = createFetchForOtherUrls({
    origin: url.origin,
    fetch: baseFetch,
    allowOtherOrigins: options.allowOtherOrigins ?? options.fetch !== undefined,
  });
  const tools = createToolListKeeper({ state, emit, now, options: options.toolList ?? {} });
  const sendOwn = createSendOwnMessage(send);
  const { onStart, timeouts = {}, recover = true } = options;
  const handshake = createHandshake({
    state,
    url,
    sendOwn,
    ids,
    emit,
    onSession: options.onSession,
    onStart:
      onStart &&
      ((session, reason) =>
        runStartHook({
          onStart,
          reason,
          session,
          url,
          createFetch: (slot) => createSessionFetch(forStartHook(options, slot)),
          timeoutMs: timerMs(timeouts.startMs, 60_000),
        })),
    abandon: (session, { headers }) =>
      endSession({
        url,
        snapshot: { version: 1, url: url.href, ...session },
        headers,
        fetch: baseFetch,
      }),
    afterRecovery: (lost, template, signal) =>
      relistTools({ state, lost, sendOwn, ids, tools, emit, template, signal }),
    aroundRecovery: options.aroundRecovery,
    recover,
    timeoutMs: timerMs(timeouts.initializeMs, 30_000),
    now,
  });
  const serverRequests = questions ?? createServerRequests(ids);
  const notify = options.onEvent && createNotify(emit);
  const exchange = createExchange({
    state,
    url,
    send,
    sendOwn,
    ids,
    tools,
    serverRequests,
    handshake,
    emit,
    cancelOnAbort: options.cancelOnAbort ?? false,
    resend: options.resend ?? "safe",
    isSafeToResend: options.isSafeToResend,
    classifyLoss: options.classifyLoss,
    retrySameId: options.retrySameId ?? false,
    answerTimeoutMs: timerMs(timeouts.answerMs, 300_000),
    notify,
    recover,
  });
  const clientHandshake = createClientHandshake({ state, url, handshake, emit });
  const inbound = createInboundStream({
    state,
    send,
    ids,
    tools,
    serverRequests,
    notify,
    listen: options.listen ?? false,
  });
  const aside = options.except && createAside(options, options.except, state, serverRequests);

  const isStateless = () => {
    const { snapshot } = state;
    if (snapshot?.kind !== "stateless") return false;
    const age = now() - snapshot.decidedAt;
    return age >= 0 && age <= (options.statelessMaxAgeMs ?? 86_400_000);
  };

  let hasProbed = false;
  const fetch: typeof globalThis.fetch = async (input, init) => {
    if (!isSameEndpoint(requestUrl(input), url)) return await fetchOther(input, init);
    const request = await readOutgoingRequest(input, init);
    request.signal?.throwIfAborted();
    const passThrough = async (live: LiveSession | undefined) => {
      const response = await send({
        ...request,
        headers: headersForSession(request.headers, live),
      });
      if (!response.ok && live !== undefined) {
        return toResponse(await bufferAnswer(response, live));
      }
      return new Response(response.body, {
        status: response.status,
        statusText: response.statusText,
        headers: headersForClient(response.headers),
      });
    };

    const message = request.method === "POST" ? parseMessage(bodyText(request) ?? "") : undefined;
    const method = message !== undefined && isRequest(message) ? message.method : undefined;
    hasProbed ||= method === "server/discover";
    // A client that does not probe is told what is wrong: by a new attempt, which may also succeed.
    const neverProbed = method === "initialize" && !hasProbed;
    if (isStateless() && !neverProbed) return await passThrough(undefined);
    if (request.method === "DELETE") return emptyAnswer(204);
    if (request.method === "GET") return await inbound(request);

    if (message === undefined) return await passThrough(state.live);
    if (aside !== undefined) {
      const isAside = isRequest(message) ? aside.matches(message) : aside.owns(message);
      if (isAside) return await aside.fetch(input, init);
    }
    const answered = await clientHandshake(message, request);
    announceResumption(state, emit);
    if (answered instanceof Response) return answered;
    if (answered === "pass" || isOfStatelessEra(message)) return await passThrough(undefined);
    const list = isRequest(message) ? tools.answer(message) : undefined;
    if (list !== undefined && isRequest(message)) return resultAnswer(message.id, list);
    return await exchange(message, request);
  };

  const owns = (message: JsonRpcMessage): boolean => {
    if (!("method" in message)) {
      const asking = serverRequests.askedBy(message);
      return asking !== undefined && state.live !== undefined && sameSession(asking, state.live);
    }
    const params = "params" in message ? message.params : undefined;
    const isCancellation = message.method === "notifications/cancelled";
    return isCancellation && ids.findByClientId(params?.["requestId"]) !== undefined;
  };

  return { fetch, owns };
}

/** What goes to a session of its own, for the same clients. */
function createAside(
  options: SessionFetchOptions,
  { slot, matches }: NonNullable<SessionFetchOptions["except"]>,
  main: SlotState,
  serverRequests: ServerRequests,
) {
  const pipeline = createPipeline(forExceptions(options, slot), serverRequests);
  const fetch: typeof globalThis.fetch = (input, init) => {
    slotState(slot).clientParams ??= main.clientParams;
    return pipeline.fetch(input, init);
  };
  return { matches, owns: pipeline.owns, fetch };
}

/** For the client of `onStart`: nothing makes a session, and nothing is reported twice. */
function forStartHook(options: SessionFetchOptions, slot: SessionSlot): SessionFetchOptions {
  const { onStart: _, onSession: __, onEvent: ___, except: ____, ...rest } = options;
  return { ...rest, slot, recover: false, listen: false };
}

/** For what goes to a session of its own, which is not saved: only what goes wrong is reported. */
function forExceptions(options: SessionFetchOptions, slot: SessionSlot): SessionFetchOptions {
  const { onSession: _, except: __, onEvent, ...rest } = options;
  const reported = new Set(["lost", "recovered", "start-failed", "notification"]);
  const emit: EmitSessionEvent = (event) => {
    if (reported.has(event.type)) onEvent?.(event);
  };
  return { ...rest, slot, listen: false, onEvent: onEvent && emit };
}

/** Requests of the revisions without sessions name their revision themselves. */
function isOfStatelessEra(message: JsonRpcMessage): boolean {
  const meta = "params" in message ? message.params?.["_meta"] : undefined;
  return isRecord(meta) && Object.hasOwn(meta, "io.modelcontextprotocol/protocolVersion");
}

function timerMs(ms: number | undefined, otherwise: number): number {
  return Math.min(ms ?? otherwise, maxTimerMs);
}

function isSameEndpoint(a: URL, b: URL): boolean {
  return a.origin === b.origin && a.pathname === b.pathname && a.search === b.search;
}

/** A slot and its snapshot belong to one URL; a snapshot for another is as if it were not there. */
function bindToUrl(state: SlotState, url: URL, emit: EmitSessionEvent): void {
  if (state.url !== undefined && state.url !== url.href) {
    throw new McpSessionError(
      "CONNECTION_INVALID",
      `slot is already in use for another URL than the given one at ${url.origin}. Create a slot for each connection.`,
      { data: { field: "slot", origin: url.origin } },
    );
  }
  state.url = url.href;
  if (state.snapshot === undefined || state.snapshot.url === url.href) return;
  state.live = undefined;
  saveSnapshot(state, undefined);
  emit({ type: "discarded", reason: "url" });
}

/** Says once a slot that a session saved by an earlier step is in use. */
function announceResumption(state: SlotState, emit: EmitSessionEvent): void {
  const { seeded } = state;
  if (seeded === undefined || state.live !== seeded) return;
  state.seeded = undefined;
  emit({ type: "resumed", protocolVersion: seeded.initializeResult.protocolVersion });
}
