import type { SlotState } from "../session/slot-state.ts";
import type { MemoryFeatureContext } from "../session/session-fetch-options.ts";

/** What all parts of a memory know. */
export interface MemoryContext extends Omit<MemoryFeatureContext, "slot" | "toolList"> {
  readonly state: SlotState;
  /** Whether the slot is the memory's own, and not that of a session fetch. */
  readonly isOwn: boolean;
  readonly pinMs: number | undefined;
  /** Of the handshake and the lists of a revision with sessions, in milliseconds. */
  readonly maxAgeMs: number;
  /** Of one result, in characters of its JSON. */
  readonly maxLength: number;
}
