import { guarded } from "@durable-mcp/core/internal";
import type { ConnectionEvent } from "./connection-event.ts";
import type { ConnectionTelemetry } from "./connection-telemetry.ts";

type Observe = (event: ConnectionEvent) => void;

/**
 * A function that passes events to the telemetry, and then to the application. Their errors are dropped.
 */
export function createTeller(
  telemetry: ConnectionTelemetry | undefined,
  onEvent: Observe = warnWhereNobodyListens,
): Observe {
  const measure = guarded((event: ConnectionEvent) => telemetry?.observe?.(event));
  const observe = guarded(onEvent);
  return (event) => {
    measure(event);
    observe(event);
  };
}

/** Warns on the console of a store's failure in the background. */
export function warnWhereNobodyListens(event: ConnectionEvent): void {
  if (event.type !== "store-failed") return;
  console.warn(`Connection ${event.connection}: ${event.error.message}`);
}
