import type { OnSession, SessionSlot } from "@durable-mcp/core";

/** The slot of a stateful connection in one step, and the hook that saves its sessions. */
export interface StepSlot {
  readonly slot: SessionSlot;
  readonly onSession?: OnSession | undefined;
}
