import { isRecord } from "../base/json-values.ts";
import type { ToolDefinition } from "../session/session-snapshot.ts";
import { utf8 } from "../wire/byte-parts.ts";
import type { JsonRpcRequest } from "../wire/json-rpc.ts";
import type { OutgoingRequest } from "../wire/server-endpoint.ts";

/** A deeper schema has no headers. */
const maxDepth = 32;
/** RFC 9110, section 5.6.2. */
const token = /^[!#$%&'*+\-.^_`|~\w]+$/;
/** What a header can hold as it is. */
const plain = /^[\x21-\x7E](?:[\t\x20-\x7E]*[\x21-\x7E])?$/;
const encoded = /^=\?base64\?.*\?=$/;

/**
 * The `Mcp-Param-*` headers of a `tools/call`: the arguments whose property in the tool's schema names a
 * header. A definition that names a header twice is invalid, and gets none.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#custom-headers-from-tool-parameters
 */
function paramHeaders(inputSchema: unknown, args: unknown): Map<string, string> {
  const headers = new Map<string, string>();
  const names = new Set<string>();
  const visit = (schema: unknown, value: unknown, depth: number): boolean => {
    const properties = isRecord(schema) ? schema["properties"] : undefined;
    if (!isRecord(properties) || depth === maxDepth) return true;
    return Object.entries(properties).every(([key, property]) => {
      if (!isRecord(property)) return true;
      const own = isRecord(value) && Object.hasOwn(value, key) ? value[key] : undefined;
      const name = property["x-mcp-header"];
      if (name === undefined) return visit(property, own, depth + 1);
      if (typeof name !== "string" || !token.test(name)) return false;
      const header = `mcp-param-${name.toLowerCase()}`;
      if (names.has(header)) return false;
      names.add(header);
      if (hasType(own, property["type"])) headers.set(header, headerValue(String(own)));
      return true;
    });
  };
  return visit(inputSchema, args, 0) ? headers : new Map<string, string>();
}

function hasType(value: unknown, type: unknown): boolean {
  if (type === "integer") return Number.isSafeInteger(value);
  return (type === "string" || type === "boolean") && typeof value === type;
}

function headerValue(text: string): string {
  if (plain.test(text) && !encoded.test(text)) return text;
  const bytes = Array.from(utf8(text), (byte) => String.fromCharCode(byte));
  return `=?base64?${btoa(bytes.join(""))}?=`;
}

/** A `tools/call` with the headers that the tool's definition asks for, where the client has not set them. */
export function withParamHeaders(
  request: OutgoingRequest,
  { method, params = {} }: JsonRpcRequest,
  tools: readonly ToolDefinition[],
): OutgoingRequest {
  const tool = method === "tools/call" && tools.find(({ name }) => name === params["name"]);
  const named = tool ? [...paramHeaders(tool.inputSchema, params["arguments"])] : [];
  const missing = named.filter(([name]) => !request.headers.has(name));
  if (missing.length === 0) return request;
  return { ...request, headers: new Headers([...request.headers, ...missing]) };
}

/** The same with these headers alone: the client's own are of an outdated definition. */
export function withNewParamHeaders(
  request: OutgoingRequest,
  message: JsonRpcRequest,
  tools: readonly ToolDefinition[],
): OutgoingRequest {
  const others = [...request.headers].filter(([name]) => !name.startsWith("mcp-param-"));
  return withParamHeaders({ ...request, headers: new Headers(others) }, message, tools);
}
