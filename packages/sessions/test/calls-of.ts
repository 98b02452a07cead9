import type { WaitingCall, WaitingEntry } from "@durable-mcp/core/waiting";

/** The calls among what waits for a person. */
export const callsOf = (entries: readonly WaitingEntry[]): WaitingCall[] =>
  entries.filter((entry) => entry.id !== undefined);
