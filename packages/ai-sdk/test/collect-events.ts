import type { ConnectionEvent } from "../src/index.ts";

export type ClientEvent = Extract<ConnectionEvent, { type: "client" }>;

/**
 * An `onEvent` that keeps events. Each run has events of clients, so these are kept apart; those of operations and of
 * the ends of steps, which come with all that is done, are left out.
 */
export function collectEvents() {
  const events: ConnectionEvent[] = [];
  const clientEvents: ClientEvent[] = [];
  const onEvent = (event: ConnectionEvent): void => {
    if (event.type === "client") clientEvents.push(event);
    else if (!isOfProgress(event)) events.push(event);
  };
  return { onEvent: { every: onEvent }, events, clientEvents };
}

/** Whether an event only says that something was done. */
export function isOfProgress({ type }: ConnectionEvent): boolean {
  return type === "operation" || type === "step-ended";
}
