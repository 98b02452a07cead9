import { McpSessionError } from "@durable-mcp/core";
import type { ConnectionEvent } from "./connection-event.ts";
import { isRegistryDisposed, withoutCause } from "./connection-error.ts";
import { isQuestion } from "./request-failure.ts";

type Emit = (event: ConnectionEvent) => void;

const told = new WeakSet<McpSessionError>();

/** Whether an event has told of an error. */
export function isTold(error: unknown): boolean {
  return McpSessionError.isInstance(error) && told.has(error);
}

/** Emits `unavailable`, or `authorization-required`, once for each error, however many callers see it. */
export function emitUnavailable(emit: Emit, connection: string, error: McpSessionError): void {
  if (told.has(error)) return;
  told.add(error);
  const { reason, scopes = [], startUrl } = error.data;
  emit(
    error.code === "AUTHORIZATION_REQUIRED"
      ? { type: "authorization-required", connection, scopes, startUrl, error: withoutCause(error) }
      : { type: "unavailable", connection, reason, error: withoutCause(error) },
  );
}

/**
 * Emits the event for the error of a request, if it says that the connection cannot be used, or that it
 * broke. Other errors are no news of the connection, or have an event of their own.
 */
export function tellIfUnavailable(emit: Emit, connection: string, error: unknown): void {
  if (!McpSessionError.isInstance(error) || told.has(error)) return;
  const { code, data } = error;
  const type = isRegistryDisposed(error)
    ? "used-after-run"
    : code === "CONNECTION_INVALID" && isQuestion(error.cause) && "cannot-ask";
  if (type) {
    told.add(error);
    return emit({ type, connection });
  }
  const isOwnFunction = code === "CONNECTION_UNAVAILABLE" && data.field !== undefined;
  if (data.reason !== undefined || isOwnFunction || code === "AUTHORIZATION_REQUIRED") {
    emitUnavailable(emit, connection, error);
  }
}
