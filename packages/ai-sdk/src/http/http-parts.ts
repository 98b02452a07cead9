import { createSessionSlot, type OnSession, type SessionSlot } from "@durable-mcp/core";
import { once } from "../base/once.ts";
import type { ConnectionContext } from "../connection/connection-options.ts";
import { type McpClientConnection, sessionOptions } from "../connection/define-connection.ts";
import { restoreSessionError } from "../errors/connection-error.ts";
import type { ConnectionEvent } from "../events/connection-event.ts";
import { type ConnectionTelemetry, createOperationTracer } from "../events/connection-telemetry.ts";
import { createConnectionFetch } from "./connection-fetch.ts";

export interface HttpConnectionOptions {
  readonly definition: McpClientConnection;
  readonly context: ConnectionContext;
  /** The slot of a stateful connection. */
  readonly slot?: SessionSlot | undefined;
  /** The save point of the slot. */
  readonly onSession?: OnSession | undefined;
  /** Whether the step goes on. Aborted calls are only cancelled then, not when clients close. */
  readonly isActive: () => boolean;
  readonly emit: (event: ConnectionEvent) => void;
  readonly telemetry: ConnectionTelemetry | undefined;
  readonly now: () => number;
}

export type HttpParts = ReturnType<typeof createHttpParts>;

/** The common parts of the clients of one connection over HTTP. */
export function createHttpParts(options: HttpConnectionOptions) {
  const { definition, context, slot, telemetry, now } = options;
  const { url, authProvider: provider } = definition.options;
  const { connection } = context;
  const { origin } = new URL(url);
  const authProvider = once(async () =>
    typeof provider === "function" ? await provider(context) : provider,
  );
  return {
    ...options,
    url,
    origin,
    authProvider,
    connectionFetch: createConnectionFetch({ definition, context, authProvider, now }),
    /** The slot of the session for the tools in `session.except`. */
    exceptSlot: sessionOptions(definition).except && createSessionSlot(),
    isResuming: slot?.snapshot?.kind === "session",
    restoreError: (error: unknown) => restoreSessionError(error, connection, slot),
    trace: createOperationTracer(telemetry, { connection, transport: "http", origin }),
  };
}
