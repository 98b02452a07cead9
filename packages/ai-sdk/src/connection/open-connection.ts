import type { ConnectionEvent } from "../events/connection-event.ts";
import type { ConnectionContext } from "./connection-options.ts";
import type { ConnectionTelemetry } from "../events/connection-telemetry.ts";
import type { LiveConnection } from "./live-connection.ts";

/**
 * Where a definition keeps how it is opened, so that the registry need not know, or load, what
 * needs Node. The same symbol in each copy of this package.
 */
export const openConnection: unique symbol = Symbol.for(
  "durable-mcp.openConnection",
) as unknown as typeof openConnection;

/** Makes the connection of one registry, which owns all that it starts. Starts nothing yet. */
export type OpenConnection = (step: {
  readonly context: ConnectionContext;
  /** Whether the registry is in use: what ends afterwards was meant to. */
  readonly isActive: () => boolean;
  readonly emit: (event: ConnectionEvent) => void;
  readonly telemetry: ConnectionTelemetry | undefined;
}) => LiveConnection;
