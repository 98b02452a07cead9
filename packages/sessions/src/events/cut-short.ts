/** The errors of calls that ended here before their answer came. */

import { McpSessionError } from "@durable-mcp/core";
import { checkFirst } from "./connection-error.ts";

interface CutShort {
  readonly connection: string;
  readonly origin: string;
  readonly method?: string | undefined;
}

/** The error of a tool call that took longer than `timeouts.callMs`. */
export function callTimedOut(
  error: unknown,
  { connection, origin, callMs }: CutShort & { readonly callMs: number },
): McpSessionError {
  const method = "tools/call";
  return new McpSessionError(
    "OUTCOME_UNKNOWN",
    `${method} at ${origin}: no answer within ${callMs} ms; whether it was carried out is unknown. Check before you send it again.`,
    { data: { method, origin, connection }, cause: error },
  );
}

/** What clients throw of their requests under way when they are closed, with a code or without. */
const ofClosed = /(?:^|: )Connection closed$/;

/**
 * The error of a call whose client was closed while it was under way. Other errors are returned unchanged.
 *
 * @param isCutShort whether the end of the run, and not the caller, aborts the call
 */
export function closedCall(
  error: unknown,
  { connection, origin, method }: CutShort,
  isCutShort = false,
): unknown {
  const { name, message } = error instanceof Error ? error : { name: "", message: "" };
  const isClosed = ofClosed.test(message) || (isCutShort && name === "AbortError");
  if (method !== "tools/call" || McpSessionError.isInstance(error) || !isClosed) return error;
  return new McpSessionError(
    "OUTCOME_UNKNOWN",
    `${method} at ${origin}: the connection was closed before an answer came. ${checkFirst}`,
    { data: { method, origin, connection }, cause: error },
  );
}
