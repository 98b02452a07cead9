import type { OnSession, Principal, SessionSlot } from "@durable-mcp/core";
import type { McpConnection } from "../connection/mcp-connection.ts";
import type { StepTime } from "../connection/step-time.ts";
import type { SlotName } from "./slot-name.ts";

/** The slot of a stateful connection in one step, and the hook that saves its sessions. */
export interface StepSlot {
  readonly slot: SessionSlot;
  readonly onSession?: OnSession | undefined;
}

/** What is connected, for whom, and for how long. */
export interface ConnectionUse {
  readonly slot: SlotName;
  readonly definition: McpConnection;
  readonly principal: Principal | undefined;
  readonly step: StepTime;
}
