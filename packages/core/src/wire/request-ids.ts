import { isRecord } from "../base/json-values.ts";
import { randomToken } from "../base/random-token.ts";
import {
  type JsonRpcId,
  type JsonRpcMessage,
  type JsonRpcRequest,
  methodOf,
  paramsOf,
} from "./json-rpc.ts";
import { createdTaskId, createTaskTokens } from "./task-tokens.ts";

/** A client's request that went out under an id of ours and has no answer yet. */
export interface PendingRequest {
  readonly wireId: string;
  /** The client's request, under its own id. */
  readonly request: JsonRpcRequest;
}

/**
 * Gives the requests of one session fetch ids that no other process on the session uses, and restores
 * the client's ids in answers.
 *
 * Every client numbers its requests from 0, and servers route answers by id. So two processes on one
 * session would get each other's results or hang. The ids of the client's requests and its progress
 * tokens are replaced. The ids of the server's own requests stay.
 *
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic#requests (ids MUST NOT repeat within a session)
 */
export interface RequestIds {
  /** All ids of this fetch start with it; empty until the first request. */
  readonly prefix: string;
  /** Registers a client's request and returns its form on the wire. */
  send(request: JsonRpcRequest): { pending: PendingRequest; message: JsonRpcRequest };
  /** The request with this id on the wire, if it waits for its answer. */
  find(wireId: unknown): PendingRequest | undefined;
  /** The one waiting request with this id of a client; `undefined` if two clients use it. */
  findByClientId(id: unknown): PendingRequest | undefined;
  /** The client's progress token, if the request with this id on the wire made a task that goes on. */
  findTaskToken(wireId: unknown): JsonRpcId | undefined;
  /** Reads what a message says about tasks. `pending` is the request that it answers. */
  observeTasks(message: JsonRpcMessage, pending: PendingRequest | undefined): void;
  /** Notes that the request was answered, or never will be. */
  settle(pending: PendingRequest): void;
  /** A fresh id for a request that the fetch itself sends. */
  next(): string;
}

export function createRequestIds(): RequestIds {
  // It is made with the first request, because some edge runtimes have no randomness before that.
  let prefix = "";
  let count = 0;
  const pendingByWireId = new Map<unknown, PendingRequest>();
  const tasks = createTaskTokens();

  const next = () => {
    prefix ||= `${randomToken()}.`;
    count += 1;
    return prefix + count;
  };

  return {
    get prefix() {
      return prefix;
    },
    next,
    send(request) {
      const wireId = next();
      const pending = { wireId, request };
      pendingByWireId.set(wireId, pending);
      const message = { ...request, id: wireId };
      if (progressTokenOf(request) === undefined) return { pending, message };
      const meta = { ...(request.params?.["_meta"] as object), progressToken: wireId };
      const params = { ...request.params, _meta: meta };
      return { pending, message: { ...message, params } };
    },
    find: (wireId) => pendingByWireId.get(wireId),
    findByClientId(id) {
      const matches = [...pendingByWireId.values()].filter(({ request }) => request.id === id);
      return matches.length === 1 ? matches[0] : undefined;
    },
    findTaskToken: tasks.find,
    observeTasks(message, pending) {
      const { request } = pending ?? {};
      tasks.observe(message, request);
      if (pending === undefined || "method" in message) return;
      const token = progressTokenOf(pending.request);
      const taskId = createdTaskId(pending.request, message.result);
      if (token !== undefined && taskId !== undefined) tasks.keep(pending.wireId, token, taskId);
    },
    settle: ({ wireId }) => void pendingByWireId.delete(wireId),
  };
}

function progressTokenOf({ params }: JsonRpcRequest): JsonRpcId | undefined {
  const meta = params?.["_meta"];
  const token = isRecord(meta) ? meta["progressToken"] : undefined;
  return typeof token === "string" || typeof token === "number" ? token : undefined;
}

/** A progress notification of the server with the client's token; `undefined` for other messages. */
export function restoreProgress(
  message: JsonRpcMessage,
  ids: Pick<RequestIds, "find" | "findTaskToken">,
): JsonRpcMessage | undefined {
  if (methodOf(message) !== "notifications/progress") return undefined;
  const params = paramsOf(message);
  const wireId = params?.["progressToken"];
  const pending = ids.find(wireId);
  const progressToken = pending ? progressTokenOf(pending.request) : ids.findTaskToken(wireId);
  if (progressToken === undefined) return undefined;
  return { ...message, params: { ...params, progressToken } };
}
