import { guarded } from "@durable-mcp/core/internal";
import type { ConnectionEvent } from "./connection-event.ts";
import type { ConnectionTelemetry } from "./connection-telemetry.ts";

type Observe = (event: ConnectionEvent) => void;

/** What tells the telemetry, and then the application. What they throw is their own affair. */
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

/** A store's failure behind the application's back is said on the console. */
export function warnWhereNobodyListens(event: ConnectionEvent): void {
  if (event.type !== "store-failed") return;
  console.warn(`Connection ${event.connection}: ${event.error.message}`);
}
