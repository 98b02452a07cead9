import { McpSessionError } from "@durable-mcp/core";

/** @param bytes `undefined` when nobody has counted to the end */
export function stateTooLarge(bytes: number | undefined, maxBytes: number): McpSessionError {
  return new McpSessionError(
    "STATE_INVALID",
    `The state of the session would take ${bytes ?? `more than ${maxBytes}`} bytes; limits.stateBytes allows ${maxBytes}. The change is not stored. Keep large data in a database, with its key in the state, or raise the limit.`,
    { data: { field: "state" } },
  );
}

/** @param problem names the part and the fix, never its value: "state.at is a Date; store its ISO text" */
export function stateInvalid(problem: string): McpSessionError {
  return new McpSessionError(
    "STATE_INVALID",
    `The state of the session cannot be stored: ${problem}. The change is not stored.`,
    { data: { field: "state" } },
  );
}

export function stateConflict(cause?: unknown): McpSessionError {
  return new McpSessionError(
    "STATE_CONFLICT",
    "Another call changed the state of the session at the same time. The changes of this call are not stored; call again.",
    { data: { field: "state" }, cause },
  );
}

export function sessionGone(): McpSessionError {
  return new McpSessionError(
    "SESSION_LOST",
    "The session ended while the call ran. The changes of this call are not stored; start a new session.",
    { data: { field: "state" } },
  );
}
