import { abortable } from "./abortable.ts";
import { bufferAnswer, toResponse } from "./buffered-answer.ts";
import { createClientHandshake } from "./client-handshake.ts";
import { parseEndpointUrl } from "./endpoint-url.ts";
import { createExchange } from "./exchange.ts";
import { createHandshake, type OnSession } from "./handshake.ts";
import { createInboundStream } from "./inbound-stream.ts";
import {
  isRecord,
  isRequest,
  type JsonRpcMessage,
  type JsonRpcRequest,
  parseMessage,
} from "./json-rpc.ts";
import { emptyAnswer, resultAnswer } from "./local-answer.ts";
import { McpSessionError } from "./mcp-session-error.ts";
import { createFetchForOtherUrls } from "./other-urls.ts";
import { bodyText, readOutgoingRequest, requestUrl } from "./outgoing-request.ts";
import { createSendOwnMessage } from "./own-message.ts";
import { relistTools } from "./relist-tools.ts";
import type { ResendPolicy } from "./resend-policy.ts";
import { createRequestIds } from "./request-ids.ts";
import { createServerRequests } from "./server-requests.ts";
import { createSendToEndpoint } from "./server-endpoint.ts";
import { createEmit, type EmitSessionEvent } from "./session-event.ts";
import { headersForClient, headersForSession } from "./session-headers.ts";
import {
  type LiveSession,
  saveSnapshot,
  type SessionSlot,
  slotState,
  type SlotState,
} from "./session-slot.ts";
import { createToolListKeeper, type ToolListOptions } from "./tool-list.ts";

export interface SessionFetchOptions {
  /** The server's URL. Only requests to exactly this URL take part in the session. */
  url: string | URL;
  /** The holder of the session, from `createSessionSlot`. */
  slot: SessionSlot;
  /**
   * The fetch that requests go out with. Passing one also vouches for requests to other origins
   * (see `allowOtherOrigins`). @default globalThis.fetch
   */
  fetch?: typeof globalThis.fetch | undefined;
  /**
   * Whether requests to other origins (OAuth) may pass. Without it they fail with
   * `FETCH_REQUIRED`. @default whether `fetch` was given
   */
  allowOtherOrigins?: boolean | undefined;
  /** Whether redirects within the origin are followed. @default "refuse" */
  redirect?: "refuse" | "same-origin" | undefined;
  /**
   * Whether a client may open a stream of server messages (GET). Needed by clients that declare
   * sampling, elicitation or roots. A step is too short to listen otherwise. @default false
   */
  listen?: boolean | undefined;
  /**
   * Whether an aborted request is cancelled on the client's behalf (`notifications/cancelled`,
   * best effort). A function is asked at the time. @default false
   */
  cancelOnAbort?: boolean | (() => boolean) | undefined;
  /**
   * Whether a lost session is replaced. Without it a loss is reported (`SESSION_LOST`, or
   * `OUTCOME_UNKNOWN` when it is only probable), for callers that open the next one elsewhere.
   * @default true
   */
  recover?: boolean | undefined;
  /** Whether a request that met a lost session is sent again on the new one. @default "safe" */
  resend?: ResendPolicy | undefined;
  /**
   * With `resend: "safe"`: whether a request may run twice, asked for requests other than lists,
   * reads and pings when it is not certain that the server refused it unprocessed. @default none may
   */
  isSafeToResend?: ((request: JsonRpcRequest) => boolean) | undefined;
  /** How long and how large a kept tool list may be. */
  toolList?: ToolListOptions | undefined;
  /**
   * How long the verdict that a server has no sessions holds, in milliseconds.
   * @default 86400000 (1 day)
   */
  statelessMaxAgeMs?: number | undefined;
  /**
   * The save point: awaited after the server acknowledged `notifications/initialized` and before
   * any other request goes on. The snapshot it returns wins. What it throws fails the handshake.
   */
  onSession?: OnSession | undefined;
  /** Told what happens to the session. */
  onEvent?: EmitSessionEvent | undefined;
  /** The clock, in milliseconds since 1970-01-01 UTC. @default Date.now */
  now?: (() => number) | undefined;
}

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
  const url = parseEndpointUrl(options.url);
  const now = options.now ?? Date.now;
  const emit = createEmit(options.onEvent);
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
  const handshake = createHandshake({
    state,
    url,
    sendOwn,
    ids,
    emit,
    onSession: options.onSession,
    afterRecovery: (lost, template, signal) =>
      relistTools({ state, lost, sendOwn, ids, tools, emit, template, signal }),
    now,
  });
  const serverRequests = createServerRequests(ids);
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
    recover: options.recover ?? true,
  });
  const clientHandshake = createClientHandshake({ state, url, handshake, emit });
  const inbound = createInboundStream({
    state,
    send,
    ids,
    tools,
    serverRequests,
    listen: options.listen ?? false,
  });
  const announceResumption = createResumptionNotice(state, emit);

  const isStateless = () => {
    const { snapshot } = state;
    if (snapshot?.kind !== "stateless") return false;
    const age = now() - snapshot.decidedAt;
    return age >= 0 && age <= (options.statelessMaxAgeMs ?? 86_400_000);
  };

  return async (input, init) => {
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

    if (isStateless()) return await passThrough(undefined);
    if (request.method === "DELETE") return emptyAnswer(204);
    if (request.method === "GET") return await inbound(request);

    const message = parseMessage(bodyText(request) ?? "");
    if (message === undefined) return await passThrough(state.live);
    const answered = await clientHandshake(message, request);
    announceResumption();
    if (answered instanceof Response) return answered;
    if (answered === "pass" || isOfStatelessEra(message)) return await passThrough(undefined);
    const list = isRequest(message) ? tools.answer(message) : undefined;
    if (list !== undefined && isRequest(message)) return resultAnswer(message.id, list);
    const answer = exchange(message, request);
    try {
      return await abortable(answer, request.signal);
    } catch (error) {
      // With a base fetch that does not heed the signal an answer comes all the same.
      answer.then((late) => late.body?.cancel(error)).catch(() => undefined);
      throw error;
    }
  };
}

/** Requests of the revisions without sessions name their revision themselves. */
function isOfStatelessEra(message: JsonRpcMessage): boolean {
  const meta = "params" in message ? message.params?.["_meta"] : undefined;
  return isRecord(meta) && Object.hasOwn(meta, "io.modelcontextprotocol/protocolVersion");
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

/** Says once that a session saved by an earlier step is in use. */
function createResumptionNotice(state: SlotState, emit: EmitSessionEvent): () => void {
  let seeded = state.live;
  return () => {
    if (seeded === undefined || state.live !== seeded) return;
    const { protocolVersion } = seeded.initializeResult;
    seeded = undefined;
    emit({ type: "resumed", protocolVersion });
  };
}
