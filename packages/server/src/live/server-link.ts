import type {
  Transport,
  TransportSendOptions,
} from "@modelcontextprotocol/sdk/shared/transport.js";
import type {
  JSONRPCMessage,
  JSONRPCRequest,
  MessageExtraInfo,
  RequestId,
} from "@modelcontextprotocol/sdk/types.js";
import { answeredId } from "../streams/request-record.ts";

/** The message that answers a request. */
export type Answer = Extract<JSONRPCMessage, { result: unknown } | { error: unknown }>;

export interface LinkHooks {
  /** A request of the client, before the server sees it. */
  readonly onRequest: (request: JSONRPCRequest) => void;
  /** Before an answer goes out: what it returns goes out in its place. Must not reject. */
  readonly beforeAnswer: (request: JSONRPCRequest, answer: Answer) => Promise<Answer>;
  /** After a request is answered or cancelled, and what could be sent was sent. */
  readonly onSettled: (request: JSONRPCRequest) => void;
  /** Before `message` is handed to the transport as one of the answer stream of this request. */
  readonly onRelated: (request: JSONRPCRequest, message: JSONRPCMessage) => void;
  /** A message that belongs to no request. */
  readonly onStandalone: (message: JSONRPCMessage) => Promise<void>;
  /** The client no longer wants this answer. */
  readonly onCancelled: (request: JSONRPCRequest) => void;
  /** The author's handler ends the listening stream, for its client to come back. */
  readonly closeStandalone: () => void;
  /** Whether messages that belong to a request can reach the client before its answer. */
  readonly canStream: () => boolean;
}

/**
 * Stands between an author's server and the SDK's transport, and is a transport to the server.
 *
 * - Requests of the server carry the name of this live session in their ids and progress tokens, so
 *   that its successor in another process, which counts from 0 again, gets no answers meant for it.
 * - An answer waits for `beforeAnswer`.
 * - Messages that belong to no request go to the store instead of this process's own stream.
 */
export interface ServerLink {
  /** For the server's `connect`. */
  readonly transport: Transport;
  /** Sends the server a request or notification of our own; what it answers goes no further. */
  inject(message: {
    method: string;
    params?: object;
    id?: "answered";
  }): Promise<Answer | undefined>;
  /** Hands on a client's message that arrived on another replica. */
  receive(message: JSONRPCMessage): void;
}

export function createServerLink(inner: Transport, instance: string, hooks: LinkHooks): ServerLink {
  const prefix = `${instance}.`;
  const requests = new Map<RequestId, JSONRPCRequest>();
  const injected = new Map<RequestId, (answer: Answer | undefined) => void>();
  let lastInjected = 0;
  let isClosed = false;
  let lastExtra: MessageExtraInfo | undefined;

  const transport: Transport = {
    start: () => inner.start(),
    close: () => inner.close(),
    send,
    get sessionId() {
      return inner.sessionId;
    },
  };
  const callbacks: Pick<Transport, "onclose" | "onerror" | "onmessage"> = {
    onclose: () => {
      isClosed = true;
      transport.onclose?.();
      // A server that is closed answers nothing more.
      for (const resolve of injected.values()) resolve(undefined);
      injected.clear();
    },
    onerror: (error) => transport.onerror?.(error),
    onmessage: (message, extra) => {
      // The listening streams are not the transport's.
      const closeStandaloneSSEStream =
        extra?.closeStandaloneSSEStream && (() => hooks.closeStandalone());
      lastExtra = { ...extra, ...(closeStandaloneSSEStream && { closeStandaloneSSEStream }) };
      receive(message, lastExtra);
    },
  };
  Object.assign(inner, callbacks);

  function receive(message: JSONRPCMessage, extra?: MessageExtraInfo): void {
    if ("method" in message && "id" in message) {
      requests.set(message.id, message);
      hooks.onRequest(message);
    }
    const own = toServer(message, prefix);
    if (own) transport.onmessage?.(own, extra);
    const cancelledId = cancelledRequest(message);
    const cancelled = cancelledId === undefined ? undefined : requests.get(cancelledId);
    if (!cancelled) return;
    requests.delete(cancelled.id);
    hooks.onCancelled(cancelled);
    hooks.onSettled(cancelled);
  }

  async function send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    const answered = answeredId(message);
    if (answered !== undefined) return await answer(answered, message as Answer);
    const outgoing = toClient(message, prefix);
    const related = options?.relatedRequestId;
    if (related === undefined || !hooks.canStream() || injected.has(related)) {
      return await hooks.onStandalone(outgoing);
    }
    const request = requests.get(related);
    if (request) hooks.onRelated(request, outgoing);
    await inner.send(outgoing, { relatedRequestId: related });
  }

  async function answer(requestId: RequestId, message: Answer): Promise<void> {
    const waiting = injected.get(requestId);
    if (waiting) {
      injected.delete(requestId);
      waiting(message);
      return;
    }
    const request = requests.get(requestId);
    // Cancelled meanwhile.
    if (!request) return;
    try {
      const final = await hooks.beforeAnswer(request, message);
      if (requests.get(requestId) !== request) return;
      hooks.onRelated(request, final);
      await inner.send(final);
    } finally {
      if (requests.get(requestId) === request) {
        requests.delete(requestId);
        hooks.onSettled(request);
      }
    }
  }

  return {
    transport,
    receive: (message) => receive(message, lastExtra),
    inject: ({ method, params, id }) => {
      if (isClosed) return Promise.resolve(undefined);
      const message = { jsonrpc: "2.0" as const, method, ...(params && { params }) };
      if (id === undefined) {
        transport.onmessage?.(message as JSONRPCMessage);
        return Promise.resolve(undefined);
      }
      const injectedId = `${prefix}injected.${++lastInjected}`;
      return new Promise((resolve) => {
        injected.set(injectedId, resolve);
        transport.onmessage?.({ ...message, id: injectedId } as JSONRPCMessage);
      });
    },
  };
}

type Loose = { method?: string; id?: RequestId; params?: Record<string, unknown> };

/** The request that a notification cancels. */
export function cancelledRequest(message: JSONRPCMessage): RequestId | undefined {
  const { method, params } = message as Loose;
  if (method !== "notifications/cancelled") return undefined;
  return params?.["requestId"] as RequestId | undefined;
}

/** The server's request that a client's message is about: its answer, or news of its progress. */
export function addressedRequest(message: JSONRPCMessage): RequestId | undefined {
  const { method, params } = message as Loose;
  if (method === undefined) return answeredId(message);
  if (method !== "notifications/progress") return undefined;
  return params?.["progressToken"] as RequestId | undefined;
}

/** The live session that a server's request id names; `undefined` for ids that are not ours. */
export function instanceOf(requestId: RequestId): string | undefined {
  const parts = typeof requestId === "string" ? requestId.split(".") : [];
  return parts.length === 2 ? parts[0] : undefined;
}

/** `undefined` when it answers a request of another live session, or of nobody. */
function toServer(message: JSONRPCMessage, prefix: string): JSONRPCMessage | undefined {
  const addressed = addressedRequest(message);
  if (addressed === undefined) return message;
  if (typeof addressed !== "string" || !addressed.startsWith(prefix)) return undefined;
  const own = Number(addressed.slice(prefix.length));
  const { method, params } = message as Loose;
  if (method === undefined) return { ...message, id: own };
  return { ...message, params: { ...params, progressToken: own } };
}

function toClient(message: JSONRPCMessage, prefix: string): JSONRPCMessage {
  const { method, id, params } = message as Loose;
  if (id === undefined) {
    if (method !== "notifications/cancelled" || !params) return message;
    const requestId = `${prefix}${String(params["requestId"])}`;
    return { ...message, params: { ...params, requestId } };
  }
  const meta = params?.["_meta"] as { progressToken?: RequestId } | undefined;
  const renamed = { ...message, id: `${prefix}${id}` } as JSONRPCMessage;
  if (meta?.progressToken === undefined) return renamed;
  const progressToken = `${prefix}${meta.progressToken}`;
  return { ...renamed, params: { ...params, _meta: { ...meta, progressToken } } };
}
