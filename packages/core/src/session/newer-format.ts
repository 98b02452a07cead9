import { isRecord } from "../base/json-values.ts";
import { McpSessionError } from "../base/mcp-session-error.ts";

/** Whether a later release wrote a value: this one only knows version 1. */
export function isNewerFormat(value: unknown): boolean {
  if (!isRecord(value) || !Object.hasOwn(value, "version")) return false;
  const { version } = value;
  return Number.isSafeInteger(version) && (version as number) > 1;
}

/** @param what begins the sentence: `"The session snapshot"` */
export function newerFormat(what: string, connection?: string): McpSessionError {
  return new McpSessionError(
    "STATE_INVALID",
    `${what} has a newer format: a later release of durable-mcp wrote it, and this one must not replace it. Upgrade this process.`,
    { data: { field: "version", ...(connection !== undefined && { connection }) } },
  );
}
