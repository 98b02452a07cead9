import { isRecord } from "../base/json-values.ts";
import { randomToken } from "../base/random-token.ts";
import {
  type JsonRpcId,
  type JsonRpcMessage,
  type JsonRpcRequest,
  methodOf,
  paramsOf,
} from "./json-rpc.ts";
import { setBounded } from "../base/bounded-map.ts";

/** A client's request that went out under an id of ours and has no answer yet. */
export interface PendingRequest {
  readonly wireId: string;
  /** The client's request, under its own id. */
  readonly request: JsonRpcRequest;
}

/** An id or a progress token behind a prefix that is unique to its client, so that any process can restore it. */
export function lastingId(prefix: string, id: JsonRpcId): string {
  const own = typeof id === "number" ? `n${id}` : `s${encodeURIComponent(id.toWellFormed())}`;
  return `${prefix}.${own}`;
}

/** The id behind the prefix; `undefined` for any other text. */
export function restoreLastingId(prefix: string, wireId: unknown): JsonRpcId | undefined {
  if (typeof wireId !== "string" || !wireId.startsWith(`${prefix}.`)) return undefined;
  const kind = wireId[prefix.length + 1];
  const own = wireId.slice(prefix.length + 2);
  try {
    if (kind === "s") return decodeURIComponent(own);
  } catch {
    return undefined;
  }
  const id = Number(own);
  return kind === "n" && own !== "" && Number.isFinite(id) ? id : undefined;
}

/**
 * Gives the requests of one session fetch ids that no other process on the session uses, and restores
 * the client's ids in answers.
 *
 * Every client numbers its requests from 0, and servers route answers by id. So two processes on one
 * session would get each other's results or hang. The ids of the client's requests and its progress
 * tokens are replaced. The ids of the server's own requests stay.
 *
 * @param lasting begins the ids of the client's requests; the client's own id follows, so that any process restores it
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic#requests (ids MUST NOT repeat within a session)
 */
export function createRequestIds(lasting?: string) {
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
    lasting,
    /** All ids of clients' requests start with it; empty until the first request. */
    get prefix() {
      return lasting === undefined ? prefix : `${lasting}.`;
    },
    /** A fresh id for a request that the fetch itself sends. */
    next,
    /** Registers a client's request and returns its form on the wire. */
    send(request: JsonRpcRequest): { pending: PendingRequest; message: JsonRpcRequest } {
      const wireId = lasting === undefined ? next() : lastingId(lasting, request.id);
      const pending = { wireId, request };
      pendingByWireId.set(wireId, pending);
      const message = { ...request, id: wireId };
      const token = progressTokenOf(request);
      if (token === undefined) return { pending, message };
      const progressToken = lasting === undefined ? wireId : lastingId(lasting, token);
      const meta = { ...(request.params?.["_meta"] as object), progressToken };
      const params = { ...request.params, _meta: meta };
      return { pending, message: { ...message, params } };
    },
    /** The request with this id on the wire, if it waits for its answer. */
    find: (wireId: unknown): PendingRequest | undefined => pendingByWireId.get(wireId),
    /** The request of another process behind an id that lasts. Only its id is known. */
    restore(wireId: unknown): PendingRequest | undefined {
      const id = lasting === undefined ? undefined : restoreLastingId(lasting, wireId);
      if (id === undefined) return undefined;
      return { wireId: String(wireId), request: { jsonrpc: "2.0", id, method: "" } };
    },
    /** The client's token behind one that lasts. */
    restoreToken: (token: unknown) =>
      lasting === undefined ? undefined : restoreLastingId(lasting, token),
    /** The one waiting request with this id of a client; `undefined` if two clients use it. */
    findByClientId(id: unknown): Pick<PendingRequest, "wireId"> | undefined {
      if (lasting !== undefined && (typeof id === "string" || typeof id === "number"))
        return { wireId: lastingId(lasting, id) };
      const matches = [...pendingByWireId.values()].filter(({ request }) => request.id === id);
      return matches.length === 1 ? matches[0] : undefined;
    },
    /** The client's progress token, if the request with this id on the wire made a task that goes on. */
    findTaskToken: tasks.find,
    /** Reads what a message says about tasks. `pending` is the request that it answers. */
    observeTasks(message: JsonRpcMessage, pending: PendingRequest | undefined) {
      tasks.observe(message, pending?.request);
      if (pending === undefined || "method" in message) return;
      const token = progressTokenOf(pending.request);
      const taskId = createdTaskId(pending.request, message.result);
      if (token !== undefined && taskId !== undefined) tasks.keep(pending.wireId, token, taskId);
    },
    /** Notes that the request was answered, or never will be. */
    settle: ({ wireId }: PendingRequest) => void pendingByWireId.delete(wireId),
  };
}

export type RequestIds = ReturnType<typeof createRequestIds>;

function progressTokenOf({ params }: JsonRpcRequest): JsonRpcId | undefined {
  const meta = params?.["_meta"];
  const token = isRecord(meta) ? meta["progressToken"] : undefined;
  return typeof token === "string" || typeof token === "number" ? token : undefined;
}

/** A progress notification of the server with the client's token; `undefined` for other messages. */
export function restoreProgress(
  message: JsonRpcMessage,
  ids: Pick<RequestIds, "find" | "findTaskToken" | "restoreToken">,
): JsonRpcMessage | undefined {
  if (methodOf(message) !== "notifications/progress") return undefined;
  const params = paramsOf(message);
  const wireId = params?.["progressToken"];
  const pending = ids.find(wireId);
  const progressToken =
    ids.restoreToken(wireId) ??
    (pending ? progressTokenOf(pending.request) : ids.findTaskToken(wireId));
  if (progressToken === undefined) return undefined;
  return { ...message, params: { ...params, progressToken } };
}

/** A session has fewer tasks under way than this. The oldest one is dropped. */
const maxTasks = 1_000;
const terminal: readonly unknown[] = ["completed", "failed", "cancelled"];

/**
 * The progress tokens of task-augmented requests. They stay valid after the `CreateTaskResult`, until the
 * task has a terminal status.
 *
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks#task-progress-notifications
 */
export function createTaskTokens() {
  const tokens = new Map<unknown, { readonly token: JsonRpcId; readonly taskId: unknown }>();
  const end = (ended: unknown) => {
    for (const [wireId, { taskId }] of tokens) if (taskId === ended) tokens.delete(wireId);
  };
  const endIfTerminal = (task: Record<string, unknown> = {}) => {
    if (terminal.includes(task["status"])) end(task["taskId"]);
  };
  return {
    /** The client's token, if the task of the request with this id on the wire goes on. */
    find: (wireId: unknown): JsonRpcId | undefined => tokens.get(wireId)?.token,
    /** Notes that a request's answer is a task with this progress token. */
    keep(wireId: string, token: JsonRpcId, taskId: unknown): void {
      setBounded(tokens, wireId, { token, taskId }, maxTasks);
    },
    /** Reads news about tasks: a notification, or the answer to a request about one. */
    observe(message: JsonRpcMessage, request: JsonRpcRequest | undefined): void {
      if ("method" in message) {
        if (methodOf(message) === "notifications/tasks/status") endIfTerminal(paramsOf(message));
      } else if (message.result !== undefined && request?.method.startsWith("tasks/")) {
        if (request.method === "tasks/result") end(request.params?.["taskId"]);
        else endIfTerminal(message.result);
      }
    },
  };
}

/** The id of the task that a task-augmented request made. */
function createdTaskId(request: JsonRpcRequest, result: unknown): unknown {
  const isAugmented = request.params?.["task"] !== undefined;
  const task = isAugmented && isRecord(result) ? result["task"] : undefined;
  return isRecord(task) ? task["taskId"] : undefined;
}
