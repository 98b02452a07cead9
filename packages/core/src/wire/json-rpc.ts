import { isRecord } from "../base/json-values.ts";

/** A JSON-RPC id of MCP's clients and servers. */
export type JsonRpcId = string | number;

/**
 * A JSON-RPC 2.0 request, as clients send it.
 * @see https://www.jsonrpc.org/specification#request_object
 */
export interface JsonRpcRequest {
  readonly jsonrpc: "2.0";
  readonly id: JsonRpcId;
  readonly method: string;
  readonly params?: Record<string, unknown>;
}

export type JsonRpcNotification = Omit<JsonRpcRequest, "id">;

/** A result or an error. The fetch reads only a part of it. */
export interface JsonRpcResponse {
  readonly jsonrpc: "2.0";
  readonly id?: JsonRpcId | null;
  readonly result?: Record<string, unknown>;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

export type JsonRpcMessage = JsonRpcRequest | JsonRpcNotification | JsonRpcResponse;

/** The single JSON-RPC message in `text`; `undefined` for a batch and anything else. */
export function parseMessage(text: string): JsonRpcMessage | undefined {
  const parsed = parseMessages(text);
  return parsed?.isBatch === false ? parsed.messages[0] : undefined;
}

/**
 * The JSON-RPC messages in `text`: one, or a batch of revision 2025-03-26.
 * @see https://modelcontextprotocol.io/specification/2025-03-26/basic#batching
 */
export function parseMessages(text: string) {
  let value: unknown;
  try {
    // Clients forgive a byte order mark, as `Response.json()` does.
    value = JSON.parse(text.startsWith("\uFEFF") ? text.slice(1) : text);
  } catch {
    return undefined;
  }
  const isBatch = Array.isArray(value);
  const messages: unknown[] = isBatch ? (value as unknown[]) : [value];
  const areMessages = messages.every((item) => isRecord(item) && item["jsonrpc"] === "2.0");
  return areMessages ? { messages: messages as JsonRpcMessage[], isBatch } : undefined;
}

/** A server's answer to a request, which a client could not use. */
export class UnusableAnswer extends Error {}

/** Whether clients take an answer. They refuse one of another form, and from a stream they drop it without a word. */
export function isUsable(response: JsonRpcResponse): boolean {
  let name: string | undefined;
  for (const each of Object.keys(response)) {
    if (each === "jsonrpc" || each === "id") continue;
    if (name !== undefined) return false;
    name = each;
  }
  const value: unknown = response[name as "result"];
  if (!isRecord(value)) return false;
  const { _meta: meta = {}, resultType = "", code, message } = value;
  if (name === "error") return Number.isSafeInteger(code) && typeof message === "string";
  if (name !== "result" || !isRecord(meta) || typeof resultType !== "string") return false;
  const { progressToken = 0, "io.modelcontextprotocol/related-task": task = { taskId: "" } } = meta;
  const isToken = typeof progressToken === "string" || Number.isSafeInteger(progressToken);
  return isToken && isRecord(task) && typeof task["taskId"] === "string";
}

const refusedKey = /"(?:__proto__|constructor)"\s*:|\\u00[4-7]/;

/** Whether a text may have a key for which `@ai-sdk/mcp` refuses a message. Few have; the pattern is slow in long ones. */
export function mayBeRefused(text: string): boolean {
  const isLikely = ["__proto__", "constructor", "\\u00"].some((part) => text.includes(part));
  return isLikely && refusedKey.test(text);
}

/** A message, as text, without the members for which `@ai-sdk/mcp` refuses it, and drops it from a stream. */
export function withoutRefused(text: string): string {
  if (!mayBeRefused(text)) return text;
  return JSON.stringify(JSON.parse(text), (key, value: unknown) => {
    const isRefused = key === "constructor" && isRecord(value) && Object.hasOwn(value, "prototype");
    return isRefused || key === "__proto__" ? undefined : value;
  });
}

/** Whether a text may be JSON with this word of ASCII in it, written with escapes too. It misses none. */
export function mayMention(json: string, word: string): boolean {
  return json.includes(word) || /\\(?:\/|u00[2-7])/.test(json);
}

export function isRequest(message: JsonRpcMessage): message is JsonRpcRequest {
  return "method" in message && "id" in message && ["string", "number"].includes(typeof message.id);
}

/** Requests of these methods change nothing on the server. */
export const safeMethods: ReadonlySet<string> = new Set([
  "ping",
  "tools/list",
  "resources/list",
  "resources/templates/list",
  "resources/read",
  "prompts/list",
  "prompts/get",
  "completion/complete",
  "events/list",
  "events/poll",
]);

/** The method of a request or a notification. */
export function methodOf(message: JsonRpcMessage): string | undefined {
  return "method" in message ? message.method : undefined;
}

export function paramsOf(message: JsonRpcMessage): Record<string, unknown> | undefined {
  return "params" in message ? message.params : undefined;
}

/** In the `_meta` of each request of a revision without sessions. */
export const versionKey = "io.modelcontextprotocol/protocolVersion";

/** The revision that a request of a revision without sessions names. */
export function revisionIn(message: JsonRpcMessage): unknown {
  const meta = paramsOf(message)?.["_meta"];
  return isRecord(meta) && Object.hasOwn(meta, versionKey) ? meta[versionKey] : undefined;
}

/** An answer of the session fetch in the server's place. */
export function resultAnswer(id: JsonRpcId, result: object): Response {
  return Response.json({ jsonrpc: "2.0", id, result });
}

/** The answer of a server without `server/discover`. Clients then go on with `initialize`. */
export function methodNotFoundAnswer(id: JsonRpcId): Response {
  const error = { code: -32601, message: "Method not found" };
  return Response.json({ jsonrpc: "2.0", id, error });
}

export function emptyAnswer(status: 202 | 204 | 405): Response {
  return new Response(null, { status });
}
