import { answeredId } from "./json-rpc.ts";
import type { JSONRPCMessage, RequestId } from "./mcp-types.ts";

/*
 * Requests of the server carry the name of their live session in their ids and progress tokens: its
 * successor in another process counts from 0 again, and must get no answers meant for its
 * predecessor.
 */

interface Loose {
  readonly method?: string;
  readonly id?: RequestId;
  readonly params?: Record<string, unknown>;
}

/** Characters of a request id, which becomes part of a key. */
export const maxRequestIdLength = 256;

/** The request that a notification cancels. */
export function cancelledRequest(message: JSONRPCMessage): RequestId | undefined {
  const { method, params } = message as Loose;
  if (method !== "notifications/cancelled") return undefined;
  const id: unknown = params?.["requestId"];
  // No request has another id.
  const isId = typeof id === "number" || typeof id === "string";
  return isId && String(id).length <= maxRequestIdLength ? id : undefined;
}

/** The server's request to which a client's message belongs: as its answer, or as its progress. */
export function addressedRequest(message: JSONRPCMessage): RequestId | undefined {
  const { method, params } = message as Loose;
  if (method === undefined) return answeredId(message);
  if (method !== "notifications/progress") return undefined;
  return params?.["progressToken"] as RequestId | undefined;
}

/** A live session's name, and a number. */
const ownId = /^([\w-]{1,64})\.\d{1,15}$/;

/** The live session that a server's request id names; `undefined` for ids that are not ours. */
export function instanceOf(requestId: RequestId): string | undefined {
  return typeof requestId === "string" ? ownId.exec(requestId)?.[1] : undefined;
}

/** A client's message with the server's own ids; `undefined` for one of another live session. */
export function withServerIds(
  message: JSONRPCMessage,
  instance: string,
): JSONRPCMessage | undefined {
  const addressed = addressedRequest(message);
  if (addressed === undefined) return message;
  const prefix = `${instance}.`;
  if (typeof addressed !== "string" || !addressed.startsWith(prefix)) return undefined;
  const own = Number(addressed.slice(prefix.length));
  const { method, params } = message as Loose;
  if (method === undefined) return { ...message, id: own };
  return { ...message, params: { ...params, progressToken: own } };
}

/** A server's message with ids that name its live session. */
export function withInstanceIds(message: JSONRPCMessage, instance: string): JSONRPCMessage {
  const { method, id, params } = message as Loose;
  if (id === undefined) {
    if (method !== "notifications/cancelled" || !params) return message;
    const requestId = `${instance}.${String(params["requestId"])}`;
    return { ...message, params: { ...params, requestId } };
  }
  const meta = params?.["_meta"] as { progressToken?: RequestId } | undefined;
  // A question of a task, which has waited in its queue under the name of who asked.
  if (instanceOf(id) !== undefined) return message;
  const renamed = { ...message, id: `${instance}.${id}` } as JSONRPCMessage;
  if (meta?.progressToken === undefined) return renamed;
  const progressToken = `${instance}.${meta.progressToken}`;
  return { ...renamed, params: { ...params, _meta: { ...meta, progressToken } } };
}
