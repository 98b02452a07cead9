import { McpSessionError } from "@durable-mcp/sessions";
import type { CallResult } from "../step-protocol.ts";

type FailedCall = Extract<CallResult, { ok: false }>;

/** The result of a call that failed, and that is not made again. */
export function failed(error: unknown): FailedCall {
  const { message } = error instanceof Error ? error : { message: String(error) };
  const code = McpSessionError.isInstance(error) ? error.code : undefined;
  return {
    ok: false,
    ...(code !== undefined && { code }),
    ...{ message, isLost: false, maySendAgain: false },
  };
}

/** A step was cut off, and may have reached the server. */
export function interrupted(connection: string, tool: string): McpSessionError {
  const message = `Connection ${connection}: the step that called ${tool} was interrupted. Whether the call was carried out is unknown, so it was not made again; check first.`;
  return new McpSessionError("OUTCOME_UNKNOWN", message, {
    data: { method: "tools/call", connection },
  });
}

/** Nothing was sent, because the session of the run is gone. */
export function noSession(connection: string): FailedCall {
  const message = `Connection ${connection}: the run has no session that the server knows. Nothing was sent.`;
  return { ok: false, code: "SESSION_LOST", message, isLost: true, maySendAgain: true };
}

/**
 * The result of a call that failed before anything could be sent. A thrown error would look like an
 * interrupted call. Errors that are not ours are thrown all the same, because their text is not for the model.
 */
export function notSent(error: unknown): CallResult {
  if (!McpSessionError.isInstance(error)) throw error;
  return failed(error);
}
