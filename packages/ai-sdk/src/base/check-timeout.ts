import { McpSessionError } from "@durable-mcp/core";

/** The longest that a timer can be set to, in milliseconds. */
const maxMs = 2_147_483_647;

/** @throws {McpSessionError} `CONNECTION_INVALID` for what no timer can be set to; `undefined` is none */
export function checkTimeout(timeoutMs: number | undefined): void {
  if (timeoutMs === undefined) return;
  if (Number.isInteger(timeoutMs) && timeoutMs >= 1 && timeoutMs <= maxMs) return;
  throw new McpSessionError(
    "CONNECTION_INVALID",
    `timeoutMs must be a whole number of milliseconds, 1 to ${maxMs}.`,
    { data: { field: "timeoutMs" } },
  );
}
