import type { OnSession, SessionSlot } from "@durable-mcp/core";

/** The slot of a stateful connection in one step, and where its sessions are saved. */
export interface StepSlot {
  readonly slot: SessionSlot;
  readonly onSession?: OnSession | undefined;
}
