import type { ConnectionEvent } from "../events/connection-event.ts";
import type { ConnectionContext } from "./connection-options.ts";
import type { ConnectionTelemetry } from "../events/connection-telemetry.ts";
import type { LiveConnection } from "./live-connection.ts";

/**
 * The key under which a definition has the function that opens it. The registry thus need not load
 * anything that needs Node. It is the same symbol in each copy of this package.
 */
export const openConnection: unique symbol = Symbol.for(
  "durable-mcp.openConnection",
) as unknown as typeof openConnection;

/** Makes the connection of one registry, which owns it. Starts nothing yet. */
export type OpenConnection = (step: {
  readonly context: ConnectionContext;
  /** Whether the registry is in use. A process that ends afterwards was meant to end. */
  readonly isActive: () => boolean;
  readonly emit: (event: ConnectionEvent) => void;
  readonly telemetry: ConnectionTelemetry | undefined;
}) => LiveConnection;
