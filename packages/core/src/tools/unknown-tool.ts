import { isRecord } from "../base/json-values.ts";
import type { JsonRpcResponse } from "../wire/json-rpc.ts";

const unknownTool =
  /unknown tool|no such tool|tool\b.{0,200}\b(not found|does not exist|unknown)/is;

/**
 * Whether an answer says that there is no such tool. Servers report it as an error or, like the official
 * SDK now, as a result with `isError`.
 */
export function reportsUnknownTool({ error, result }: JsonRpcResponse, name: unknown): boolean {
  const content = result?.["isError"] === true ? result["content"] : undefined;
  const first: unknown = Array.isArray(content) ? content[0] : undefined;
  const text: unknown = error?.message ?? (isRecord(first) ? first["text"] : undefined);
  if (typeof text !== "string" || typeof name !== "string" || !text.includes(name)) return false;
  return unknownTool.test(text);
}
