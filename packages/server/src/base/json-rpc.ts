import { isRecord } from "@durable-mcp/core/internal";
import type { Answer, JSONRPCMessage, JSONRPCRequest, RequestId } from "./mcp-types.ts";

const members = {
  request: new Set(["jsonrpc", "id", "method", "params"]),
  result: new Set(["jsonrpc", "id", "result"]),
  error: new Set(["jsonrpc", "id", "error"]),
};

/**
 * Whether both SDKs take `value` for a message. One that they do not take they drop, and a client
 * would wait for its answer for ever.
 */
export function isMessage(value: unknown): value is JSONRPCMessage {
  if (!isRecord(value) || value["jsonrpc"] !== "2.0") return false;
  const { id, method, params, result, error } = value;
  if (method !== undefined) {
    if (typeof method !== "string" || !hasOnly(value, members.request)) return false;
    return (!("id" in value) || isRequestId(id)) && (params === undefined || isParams(params));
  }
  if ("result" in value) {
    return hasOnly(value, members.result) && isRequestId(id) && isParams(result);
  }
  if (!isRecord(error) || !hasOnly(value, members.error)) return false;
  const isError = Number.isSafeInteger(error["code"]) && typeof error["message"] === "string";
  return isError && (id === undefined || isRequestId(id));
}

function hasOnly(value: object, known: ReadonlySet<string>): boolean {
  for (const name of Object.keys(value)) if (!known.has(name)) return false;
  return true;
}

function isRequestId(id: unknown): id is RequestId {
  return typeof id === "string" || Number.isSafeInteger(id);
}

const relatedTask = "io.modelcontextprotocol/related-task";

/** An object whose `_meta` has what the SDKs read of it in the form that they read. */
function isParams(params: unknown): boolean {
  if (!isRecord(params)) return false;
  const meta = params["_meta"];
  if (meta === undefined) return true;
  if (!isRecord(meta)) return false;
  const { progressToken, [relatedTask]: task } = meta;
  if (progressToken !== undefined && !isRequestId(progressToken)) return false;
  return task === undefined || (isRecord(task) && typeof task["taskId"] === "string");
}

export function isRequest(message: JSONRPCMessage): message is JSONRPCRequest {
  return "method" in message && "id" in message;
}

export function isAnswer(message: JSONRPCMessage): message is Answer {
  return "result" in message || "error" in message;
}

/** The id of the request to which a message is the answer. */
export function answeredId(message: JSONRPCMessage): RequestId | undefined {
  return "result" in message || "error" in message ? message.id : undefined;
}

/** The answer to a request whose own answer was lost with a process, or is no longer kept. */
export function outcomeUnknown(requestId: RequestId): Answer {
  const code = "OUTCOME_UNKNOWN";
  return {
    jsonrpc: "2.0",
    id: requestId,
    error: {
      code: -32603,
      message:
        "The answer to this request was lost on the server. Whether the request was carried out is unknown; check before you send it again.",
      data: { code },
    },
  };
}

/** A JSON-RPC error, as the SDK sends one that a handler throws. */
export function rpcError(code: number, message: string, data?: Record<string, unknown>): Error {
  return Object.assign(new Error(message), { code, ...(data && { data }) });
}
