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
import { type Answer, answeredId } from "../streams/request-record.ts";
import { cancelledRequest, withInstanceIds, withServerIds } from "./instance-ids.ts";

export interface LinkHooks {
  /** Whether messages that belong to a request can reach the client before its answer. */
  readonly canStream: boolean;
  /** A request of the client, before the server sees it. */
  readonly onRequest: (request: JSONRPCRequest) => void;
  /** Before an answer goes out: the returned one goes out in its place. Must not reject. */
  readonly beforeAnswer: (request: JSONRPCRequest, answer: Answer) => Promise<Answer>;
  /** After a request is answered or cancelled, and its answer was sent if that was possible. */
  readonly onSettled: (request: JSONRPCRequest) => void;
  /** Before `message` is handed to the transport for the answer stream of this request. */
  readonly onRelated: (request: JSONRPCRequest, message: JSONRPCMessage) => void;
  /** A message that belongs to no request. */
  readonly onStandalone: (message: JSONRPCMessage) => Promise<void>;
  /** The client no longer wants this answer. */
  readonly onCancelled: (request: JSONRPCRequest) => void;
  /** The author's handler ends the listening stream, for its client to come back. */
  readonly closeStandalone: () => void;
}

/**
 * Stands between an author's server and the SDK's transport, and is a transport to the server.
 *
 * - Requests of the server carry the name of this live session in their ids and progress tokens.
 * - An answer waits for `beforeAnswer`.
 * - Messages that belong to no request go to the store instead of this process's own stream.
 */
export interface ServerLink {
  /** For the server's `connect`. */
  readonly transport: Transport;
  /** Sends the server a request or notification of our own; its answer goes no further. */
  inject(message: InjectedMessage): Promise<Answer | undefined>;
  /** Hands on a client's message that arrived on another replica. */
  receive(message: JSONRPCMessage): void;
}

interface InjectedMessage {
  readonly method: string;
  readonly params?: object;
  /** Makes it a request. */
  readonly id?: "answered";
}

export function createServerLink(inner: Transport, instance: string, hooks: LinkHooks): ServerLink {
  const requests = new Map<RequestId, JSONRPCRequest>();
  const injection = createInjection(instance, (message) => transport.onmessage?.(message));
  let lastExtra: MessageExtraInfo | undefined;

  function receive(message: JSONRPCMessage, extra: MessageExtraInfo | undefined): void {
    if ("method" in message && "id" in message) {
      requests.set(message.id, message);
      hooks.onRequest(message);
    }
    const own = withServerIds(message, instance);
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
    const outgoing = withInstanceIds(message, instance);
    const related = options?.relatedRequestId;
    if (related === undefined || !hooks.canStream || injection.has(related)) {
      return await hooks.onStandalone(outgoing);
    }
    const request = requests.get(related);
    if (request) hooks.onRelated(request, outgoing);
    await inner.send(outgoing, { relatedRequestId: related });
  }

  async function answer(requestId: RequestId, message: Answer): Promise<void> {
    if (injection.settle(requestId, message)) return;
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
      injection.close();
      transport.onclose?.();
    },
    onerror: (error) => transport.onerror?.(error),
    onmessage: (message, extra) => {
      // The listening streams are not the transport's.
      const closeStandaloneSSEStream = extra?.closeStandaloneSSEStream && hooks.closeStandalone;
      lastExtra = { ...extra, ...(closeStandaloneSSEStream && { closeStandaloneSSEStream }) };
      receive(message, lastExtra);
    },
  };
  Object.assign(inner, callbacks);
  return {
    transport,
    inject: (message) => injection.send(message),
    receive: (message) => receive(message, lastExtra),
  };
}

/** Messages to the server that come from no client. */
function createInjection(instance: string, toServer: (message: JSONRPCMessage) => void) {
  const waiting = new Map<RequestId, (answer: Answer | undefined) => void>();
  let last = 0;
  let isClosed = false;
  return {
    has: (requestId: RequestId) => waiting.has(requestId),
    async send({ method, params, id }: InjectedMessage): Promise<Answer | undefined> {
      if (isClosed) return undefined;
      const message = { jsonrpc: "2.0" as const, method, ...(params && { params }) };
      if (id === undefined) {
        toServer(message as JSONRPCMessage);
        return undefined;
      }
      const injectedId = `${instance}.injected.${++last}`;
      return await new Promise((resolve) => {
        waiting.set(injectedId, resolve);
        toServer({ ...message, id: injectedId } as JSONRPCMessage);
      });
    },
    /** Takes an answer to an injected request. @returns whether it was one */
    settle(requestId: RequestId, answer: Answer): boolean {
      const resolve = waiting.get(requestId);
      waiting.delete(requestId);
      resolve?.(answer);
      return resolve !== undefined;
    },
    /** A server that is closed answers nothing more. */
    close(): void {
      isClosed = true;
      for (const resolve of waiting.values()) resolve(undefined);
      waiting.clear();
    },
  };
}
