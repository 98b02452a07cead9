import { isRecord } from "@durable-mcp/core/internal";
import type { JSONRPCMessage, JSONRPCRequest } from "@modelcontextprotocol/sdk/types.js";

/** The first protocol revision without sessions. */
const firstStatelessVersion = "2026-07-28";

/** The body of a POST, parsed as far as routing needs it. The transport validates the rest. */
export interface ClientBody {
  /** As it was sent, a batch as an array. */
  readonly value: unknown;
  readonly messages: readonly JSONRPCMessage[];
  readonly requests: readonly JSONRPCRequest[];
}

/** Deeper messages cannot be printed, and no client has them. */
const maxLevels = 1_000;

/** `undefined` for a text that is not JSON, or is nested deeper than 1,000 levels. */
export function parseClientBody(text: string): ClientBody | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (isDeeper(value, maxLevels)) return undefined;
  const items: unknown[] = Array.isArray(value) ? value : [value];
  const messages = items.filter(isMessage);
  return { value, messages, requests: messages.filter(isRequest) };
}

/** Recursion ends with the levels, long before the stack. */
function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((item) => isDeeper(item, levels - 1));
}

function isRequest(message: JSONRPCMessage): message is JSONRPCRequest {
  return "method" in message && "id" in message;
}

function isMessage(value: unknown): value is JSONRPCMessage {
  if (!isRecord(value)) return false;
  const { jsonrpc, id, method } = value;
  const isId = id === undefined || typeof id === "string" || typeof id === "number";
  return jsonrpc === "2.0" && isId && (method === undefined || typeof method === "string");
}

/**
 * Whether a request is one of a revision without sessions: its version is in the header, and in
 * each request's `_meta`.
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/transports
 */
export function isStatelessRequest(request: Request, body: ClientBody | undefined): boolean {
  if (request.headers.has("mcp-session-id")) return false;
  const header = request.headers.get("mcp-protocol-version");
  if (header !== null && header >= firstStatelessVersion) return true;
  return (body?.messages ?? []).some((message) => {
    const { params } = message as { params?: Record<string, Record<string, unknown>> };
    const version = params?.["_meta"]?.["io.modelcontextprotocol/protocolVersion"];
    return typeof version === "string" && version >= firstStatelessVersion;
  });
}
