import { isMessage, isRequest } from "../base/json-rpc.ts";
import {
  firstStatelessVersion,
  type JSONRPCMessage,
  type JSONRPCRequest,
} from "../base/mcp-types.ts";
import type { ServedRequest } from "../base/served-request.ts";

/** The body of a POST. */
export interface ClientBody {
  /** As it was sent. */
  readonly text: string;
  /** The same, a batch as an array. */
  readonly value: unknown;
  readonly isBatch: boolean;
  /** All of them; `undefined` when one is no message of MCP. */
  readonly messages: readonly JSONRPCMessage[] | undefined;
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
  // Most texts are shorter than a text of so many levels.
  if (text.length > 2 * maxLevels && isDeeper(value, maxLevels)) return undefined;
  const isBatch = Array.isArray(value);
  const items: unknown[] = isBatch ? (value as unknown[]) : [value];
  const messages = items.every(isMessage) ? items : undefined;
  return { text, value, isBatch, messages, requests: messages?.filter(isRequest) ?? [] };
}

/** Recursion ends with the levels, long before the stack. */
function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((item) => isDeeper(item, levels - 1));
}

/**
 * Whether a request is one of a revision without sessions: its version is in the header, and in
 * each request's `_meta`.
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/transports
 */
export function isStatelessRequest(request: ServedRequest, body: ClientBody | undefined): boolean {
  if (request.header("mcp-session-id") !== null) return false;
  const header = request.header("mcp-protocol-version");
  if (header !== null && header >= firstStatelessVersion) return true;
  return (body?.messages ?? []).some((message) => {
    const params = "params" in message ? message.params : undefined;
    const meta = params?.["_meta"] as Record<string, unknown> | undefined;
    const version = meta?.["io.modelcontextprotocol/protocolVersion"];
    return typeof version === "string" && version >= firstStatelessVersion;
  });
}
