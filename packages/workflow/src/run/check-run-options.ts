import { checkKnown, invalidOption } from "@durable-mcp/core/internal";

const known = ["connections", "principal", "sessionId", "state", "steps", "onUnavailable"];

/**
 * Checks the options of `openDurableConnections`. By hand, because workflow code carries no schemas. A
 * `state` comes from elsewhere: if it is not genuine, fresh sessions start.
 *
 * @throws {McpSessionError} `CONNECTION_INVALID`, naming the option
 */
export function checkRunOptions(options: unknown): void {
  checkKnown(options, known);
  const { connections, sessionId, steps, onUnavailable } = options as Record<string, unknown>;
  if (!Array.isArray(connections) || !connections.every(isName)) {
    throw invalidOption("connections", "must be a list of names");
  }
  if (sessionId !== undefined && !isName(sessionId)) {
    throw invalidOption("sessionId", "must be a non-empty string");
  }
  const { sessions, call } = (steps ?? {}) as Record<string, unknown>;
  if (typeof sessions !== "function" || typeof call !== "function") {
    throw invalidOption("steps", "must be { sessions, call }, your step functions");
  }
  if (onUnavailable !== undefined && onUnavailable !== "omit" && onUnavailable !== "throw") {
    throw invalidOption("onUnavailable", 'must be "omit" or "throw"');
  }
}

function isName(value: unknown): boolean {
  return typeof value === "string" && value !== "";
}
