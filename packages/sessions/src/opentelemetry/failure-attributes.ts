import { McpSessionError } from "@durable-mcp/core";
import { causesOf, isOwnAnswer } from "../events/request-failure.ts";

const abortNames = ["AbortError", "TimeoutError"];

/**
 * What a span says of an error: its class, and no word of its message. `error.type` is, in this
 * order, our own code, the JSON-RPC error's, the HTTP status, how it was aborted (`AbortError`,
 * `TimeoutError`), the system's code such as `ECONNREFUSED`, or `_OTHER`.
 */
export function failureAttributes(error: unknown): Record<string, string | number> {
  if (McpSessionError.isInstance(error)) {
    const { status, reason } = error.data;
    return {
      "error.type": error.code,
      ...statusAttribute(status),
      ...(reason !== undefined && { "durable_mcp.reason": reason }),
    };
  }
  const { statusCode } = (error ?? {}) as { statusCode?: unknown };
  if (isOwnAnswer(error)) {
    const type = String(error.code);
    return {
      "error.type": type,
      "rpc.response.status_code": type,
      ...statusAttribute(statusCode),
    };
  }
  if (typeof statusCode === "number") {
    return { "error.type": String(statusCode), ...statusAttribute(statusCode) };
  }
  const names = causesOf(error).map(({ name }) => name);
  const aborted = abortNames.find((name) => names.includes(name));
  return { "error.type": aborted ?? systemCode(error) ?? "_OTHER" };
}

function statusAttribute(status: unknown): Record<string, number> {
  return typeof status === "number" ? { "http.response.status_code": status } : {};
}

/** The first code of a system error in a chain of causes, such as `ECONNREFUSED`. */
function systemCode(error: unknown): string | undefined {
  const codes = causesOf(error).map(({ code }) => code);
  return codes.find(
    (code): code is string => typeof code === "string" && /^[A-Z][A-Z0-9_]+$/.test(code),
  );
}
