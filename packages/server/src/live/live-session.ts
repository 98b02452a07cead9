import { McpSessionError, type Principal } from "@durable-mcp/core";
import type { JSONRPCRequest, RequestId } from "@modelcontextprotocol/sdk/types.js";
import { createQueue } from "../base/queue.ts";
import { fingerprint, randomName } from "../base/session-id.ts";
import type { SessionRecord } from "../records/session-record.ts";
import type { StoredSession } from "../records/stored-session.ts";
import { createSharedState } from "../state/shared-state.ts";
import { sessionEventIds } from "../streams/event-id.ts";
import { type Answer, outcomeUnknown } from "../streams/request-record.ts";
import { createCallWatch } from "./call-watch.ts";
import type { HandlerContext, LiveContext } from "./handler-context.ts";
import { createServerLink, type ServerLink } from "./server-link.ts";
import { type ConnectableServer, createServerSession } from "./server-session.ts";
import { createSessionCalls } from "./session-calls.ts";
import type { ResponseFormat, SessionHandlerOptions } from "./session-handler-options.ts";
import {
  createSessionHandshake,
  type OnInitialize,
  type SessionHandshake,
} from "./session-handshake.ts";
import { type ClientPost, createSessionTransport } from "./session-transport.ts";
import { createToldSettings } from "./told-settings.ts";

/** A session that has a server in this process. */
export interface LiveSession {
  readonly instance: string;
  /** Ends the waits of the session's calls, and its listening streams in this process. */
  readonly closed: AbortSignal;
  /** Ends the listening streams that are open now. */
  readonly listening: AbortSignal;
  readonly requestsInFlight: number;
  isServing(requestId: RequestId): boolean;
  readonly handshake: SessionHandshake;
  /** Brings the server up to the newest stored record. */
  follow(newest: StoredSession): Promise<void>;
  /** `undefined` when a request with one of the ids is in flight. */
  post(post: ClientPost): Promise<Response | undefined>;
  close(): Promise<void>;
}

export interface LiveSessionOptions {
  readonly sessionId: string;
  readonly stored: StoredSession;
  readonly principal: Principal;
  readonly onInitialize?: OnInitialize | undefined;
  /** The session has ended elsewhere. */
  readonly onGone: () => void;
}

/** Builds the author's server for a session and connects it. */
export async function createLiveSession<State extends object>(
  handler: HandlerContext,
  options: SessionHandlerOptions<State>,
  live: LiveSessionOptions,
): Promise<LiveSession> {
  const { sessionId, stored, principal } = live;
  const closing = new AbortController();
  const context: LiveContext = {
    ...handler,
    ...{ sessionId, stored, closed: closing.signal },
    instance: randomName(),
    eventIds: await sessionEventIds(sessionId),
    format: chooseFormat(options, stored.record),
  };
  const parts = createLiveParts(context, options, live);
  const { state, wire, calls, handshake, link, told } = parts;
  const session = createServerSession(stored, state);
  const server = await options.createServer({ session, principal });
  await connect(server, link);
  const inTurn = createQueue();

  return {
    instance: context.instance,
    closed: closing.signal,
    get listening() {
      return parts.listening();
    },
    get requestsInFlight() {
      return calls.count + (handshake.pending === undefined ? 0 : 1);
    },
    isServing: (requestId) => calls.has(requestId),
    handshake,
    follow: async (newest) => {
      stored.see(newest);
      await inTurn(async () => {
        const { record } = stored;
        state.refresh(record.state, record.stateVersion, record.stateWriters);
        await told.tell(record);
      });
    },
    post: (post) => handOver(parts, post),
    close: async () => {
      closing.abort();
      if (handshake.pending !== undefined) {
        await wire.transport.send(outcomeUnknown(handshake.pending)).catch(() => {});
      }
      await calls.close();
      await server.close();
    },
  };
}

function createLiveParts<State extends object>(
  context: LiveContext,
  options: SessionHandlerOptions<State>,
  { onInitialize, onGone }: LiveSessionOptions,
) {
  const { stored, settings, emit } = context;
  let listening = new AbortController();
  const state = createSharedState<State>({
    state: stored.record.state,
    version: stored.record.stateVersion,
    maxBytes: settings.limits.stateBytes,
    save: (...args) => stored.saveState(...args),
    onConflict: options.onStateConflict,
    onConflictSeen: (resolved) =>
      emit({ type: "state-conflict", session: fingerprint(stored.hash), resolved }),
  });
  const wire = createSessionTransport(context, (message) => calls.of(message)?.logged);
  const calls = createSessionCalls(context, state, wire.transport);
  const handshake = createSessionHandshake(stored, wire, onInitialize);
  const told = createToldSettings(stored, (message) => link.inject(message));
  const link: ServerLink = createServerLink(wire.transport, context.instance, {
    canStream: context.format === "sse",
    onRequest: (request) => calls.arrived(request),
    onRelated: (request, message) => calls.related(request, message),
    beforeAnswer: (request, answer) => storeEffects(parts, request, answer),
    onSettled: (request) => {
      if (request.method === "initialize") handshake.settled();
      void calls.settled(request).catch(() => {});
    },
    onCancelled: (request) => void calls.cancelled(request).catch(() => {}),
    onStandalone: (message) => context.standalone.append(stored, message),
    closeStandalone: () => {
      listening.abort();
      listening = new AbortController();
    },
  });
  const startWatching = createCallWatch(context, {
    isBusy: () => calls.isBusy,
    receive: (message) => link.receive(message),
    onGone,
  });
  const parts = {
    ...{ context, state, wire, calls, handshake, link, told, startWatching },
    listening: () => listening.signal,
  };
  return parts;
}

type LiveParts<State extends object> = ReturnType<typeof createLiveParts<State>>;

function chooseFormat<State extends object>(
  { responseFormat = "sse" }: SessionHandlerOptions<State>,
  { initialize }: SessionRecord,
): ResponseFormat {
  if (typeof responseFormat !== "function") return responseFormat;
  return responseFormat({
    clientInfo: initialize["clientInfo"] as never,
    clientCapabilities: initialize.capabilities,
    protocolVersion: initialize.protocolVersion,
  });
}

async function connect(server: ConnectableServer, link: ServerLink): Promise<void> {
  try {
    await server.connect(link.transport);
  } catch (error) {
    await server.close().catch(() => {});
    throw error;
  }
}

/** Logs the requests of a POST, then hands it to the server. */
async function handOver<State extends object>(
  { calls, told, wire, startWatching }: LiveParts<State>,
  post: ClientPost,
): Promise<Response | undefined> {
  if (post.requests.length === 0) {
    await told.rememberInitialized(post.body);
    return await wire.post(post);
  }
  const call = await calls.open(post);
  if (!call) return undefined;
  startWatching();
  try {
    await told.rememberInitialized(post.body);
    const response = await wire.post(post, call.logged);
    if (!response.ok) await calls.abandon(call);
    return response;
  } catch (error) {
    await calls.abandon(call);
    throw error;
  }
}

/** Stores the effects of a request. @returns its answer, or an error when that failed */
async function storeEffects<State extends object>(
  { context, state, calls, handshake, told }: LiveParts<State>,
  request: JSONRPCRequest,
  answer: Answer,
): Promise<Answer> {
  const call = calls.of(request);
  try {
    if (request.method === "initialize") await handshake.answered(answer);
    else if ("result" in answer) await told.remember(request);
    if (call) await state.settle(call.hold);
    return answer;
  } catch (error) {
    return failure(request.id, error);
  } finally {
    // A client cannot come back for a JSON answer.
    if (context.format === "json") await call?.logged.forget(request.id).catch(() => {});
  }
}

function failure(id: RequestId, error: unknown): Answer {
  if (!McpSessionError.isInstance(error)) {
    const message =
      "The session could not be saved after this request. Check its outcome before you send it again.";
    return { jsonrpc: "2.0", id, error: { code: -32603, message } };
  }
  const { message, code } = error;
  return { jsonrpc: "2.0", id, error: { code: -32603, message, data: { code } } };
}
