import { McpSessionError } from "@durable-mcp/core";
import { inTime } from "../base/in-time.ts";
import { answeredId, isRequest } from "../base/json-rpc.ts";
import type {
  Answer,
  JSONRPCMessage,
  JSONRPCRequest,
  MessageExtra,
  RequestId,
  ServerTransport,
} from "../base/mcp-types.ts";
import { randomName } from "../base/session-id.ts";
import { cancelledRequest, withInstanceIds, withServerIds } from "../base/instance-ids.ts";

export interface LinkHooks {
  /** Runs `dispatch`, which hands a request of the client to the server. */
  readonly onRequest: (request: JSONRPCRequest, dispatch: () => void) => void;
  /** The server's answer to a request of the client. */
  readonly onAnswer: (requestId: RequestId, answer: Answer) => Promise<void>;
  /** A message for the answer stream of a request. @returns whether it could be sent there */
  readonly onRelated: (requestId: RequestId, message: JSONRPCMessage) => boolean;
  /** A message that belongs to no request, or cannot be sent on its answer stream. */
  readonly onStandalone: (message: JSONRPCMessage) => Promise<void>;
  /** The client has answered a request of the server, or the server has given it up. */
  readonly onSettled: (question: RequestId) => void;
  /** The client no longer wants an answer. */
  readonly onCancelled: (requestId: RequestId) => void;
  /** The server was closed, perhaps by its author's code. */
  readonly onClosed: () => void;
}

/**
 * The transport of an author's server: what its client sends goes in, what it sends goes to the
 * session. Requests of the server carry the name of this live session in their ids and progress
 * tokens.
 */
export interface ServerLink {
  /** For the server's `connect`. */
  readonly transport: ServerTransport;
  /** Hands a client's message to the server. */
  readonly receive: (message: JSONRPCMessage, extra?: MessageExtra) => void;
  /** Sends the server a request or notification of our own; its answer goes no further. */
  readonly inject: (message: InjectedMessage) => Promise<Answer | undefined>;
}

interface InjectedMessage {
  readonly method: string;
  readonly params?: object;
  /** Makes it a request. */
  readonly id?: "answered";
  readonly extra?: MessageExtra;
}

/** @param serverMs how long the server may take to answer a request of our own */
export function createServerLink(
  { sessionId, instance }: { readonly sessionId: string; readonly instance: string },
  serverMs: number,
  hooks: LinkHooks,
): ServerLink {
  const injection = createInjection(serverMs, (message, extra) =>
    transport.onmessage?.(message, extra),
  );
  let isClosed = false;

  const transport: ServerTransport = {
    sessionId,
    start: async () => {},
    close: async () => {
      if (isClosed) return;
      isClosed = true;
      injection.close();
      transport.onclose?.();
      hooks.onClosed();
    },
    send: async (message, options) => {
      const answered = answeredId(message);
      if (answered !== undefined) {
        if (injection.settle(answered, message as Answer)) return;
        return await hooks.onAnswer(answered, message as Answer);
      }
      const outgoing = withInstanceIds(message, instance);
      const givenUp = cancelledRequest(outgoing);
      if (givenUp !== undefined) hooks.onSettled(givenUp);
      const related = options?.relatedRequestId;
      if (related !== undefined && hooks.onRelated(related, outgoing)) return;
      const sending = hooks.onStandalone(outgoing);
      if (isRequest(outgoing)) return await sending;
      // The failure was emitted. The SDKs send notifications and wait for nobody, so that a rejection
      // would end the process.
      await sending.catch((error: unknown) => {
        if (!McpSessionError.isInstance(error)) throw error;
      });
    },
  };

  function receive(message: JSONRPCMessage, extra: MessageExtra = {}): void {
    const own = withServerIds(message, instance);
    const dispatch = () => {
      if (own) transport.onmessage?.(own, extra);
    };
    if (isRequest(message)) hooks.onRequest(message, dispatch);
    else dispatch();
    const settled = answeredId(message);
    if (settled !== undefined) hooks.onSettled(settled);
    const cancelled = cancelledRequest(message);
    if (cancelled !== undefined) hooks.onCancelled(cancelled);
  }

  return { transport, receive, inject: (message) => injection.send(message) };
}

/** Messages to the server that come from no client. */
function createInjection(
  serverMs: number,
  toServer: (message: JSONRPCMessage, extra: MessageExtra) => void,
) {
  const waiting = new Map<RequestId, (answer: Answer | undefined) => void>();
  // No client knows it, and could cancel such a request.
  const prefix = randomName();
  let last = 0;
  let isClosed = false;
  return {
    async send({ method, params, id, extra = {} }: InjectedMessage): Promise<Answer | undefined> {
      if (isClosed) return undefined;
      const message = { jsonrpc: "2.0" as const, method, ...(params && { params }) };
      if (id === undefined) {
        toServer(message as JSONRPCMessage, extra);
        return undefined;
      }
      const injectedId = `${prefix}.${++last}`;
      const answer = new Promise<Answer | undefined>((resolve) => {
        waiting.set(injectedId, resolve);
        toServer({ ...message, id: injectedId } as JSONRPCMessage, extra);
      });
      const late = `The server took longer than timeouts.serverMs (${serverMs}) to answer ${method}.`;
      return await inTime(answer, serverMs, late).finally(() => waiting.delete(injectedId));
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
