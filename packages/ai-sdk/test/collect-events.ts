import type { ConnectionEvent } from "../src/index.ts";

export type ClientEvent = Extract<ConnectionEvent, { type: "client" }>;

/** An `onEvent` that keeps events. Each run has events of clients, so these are kept apart. */
export function collectEvents() {
  const events: ConnectionEvent[] = [];
  const clientEvents: ClientEvent[] = [];
  const onEvent = (event: ConnectionEvent): void => {
    if (event.type === "client") clientEvents.push(event);
    else events.push(event);
  };
  return { onEvent, events, clientEvents };
}
