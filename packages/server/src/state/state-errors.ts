import { McpSessionError } from "@durable-mcp/core";

/** Whether what was to be stored may be stored all the same. */
export function isInDoubt(error: unknown): boolean {
  return !McpSessionError.isInstance(error) || error.code === "STORE_FAILED";
}

export function stateTooLarge(bytes: number, maxBytes: number): McpSessionError {
  return new McpSessionError(
    "STATE_INVALID",
    `The state of the session would take ${bytes} bytes, more than the ${maxBytes} that limits.stateBytes allows. The change is not stored.`,
    { data: { field: "state" } },
  );
}

export function stateConflict(cause?: unknown): McpSessionError {
  return new McpSessionError(
    "STATE_CONFLICT",
    "Another call changed the state of the session at the same time. What this call changed is not stored; call again.",
    { data: { field: "state" }, cause },
  );
}

export function sessionGone(): McpSessionError {
  return new McpSessionError(
    "SESSION_LOST",
    "The session ended while the call ran. What the call changed in its state is not stored.",
    { data: { field: "state" } },
  );
}
