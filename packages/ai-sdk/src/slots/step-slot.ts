import type { ActiveSessionSnapshot, OnSession, Principal, SessionSlot } from "@durable-mcp/core";
import { invalidOption } from "@durable-mcp/core/internal";
import type { McpConnection } from "../connection/mcp-connection.ts";
import type { StepTime } from "../connection/step-time.ts";

/** The slot of a stateful connection in one step, and the hook that saves its sessions. */
export interface StepSlot {
  readonly slot: SessionSlot;
  readonly onSession?: OnSession | undefined;
  /** A kept session that another one replaces in this step. */
  readonly outdated?: ActiveSessionSnapshot | undefined;
}

/** What is connected, for whom, and for how long. */
export interface ConnectionUse {
  readonly slot: SlotName;
  readonly definition: McpConnection;
  readonly principal: Principal | undefined;
  readonly step: StepTime;
}

/** Names one of a connection's sessions. */
export interface SlotName {
  readonly connection: string;
  /** The name of a named session; `undefined` for the session without a name. */
  readonly name?: string | undefined;
}

/** Names a named session. */
export interface NamedSlot extends SlotName {
  readonly name: string;
}

/** The longest name of a session, in UTF-16 code units. */
const maxNameLength = 256;

/** The first character of each named session's slot name. No connection's name begins with it. */
export const slotNameStart = "[";

/** The text that names a session in keys: the connection's name, or a JSON array for a named session. */
export function slotName({ connection, name }: SlotName): string {
  return name === undefined ? connection : JSON.stringify([connection, name]);
}

/** Reads what `slotName` made. Any other text is the name of a connection. */
export function parseSlotName(text: string): SlotName {
  if (!text.startsWith(slotNameStart)) return { connection: text };
  try {
    const parts: unknown = JSON.parse(text);
    const [connection, name, ...others] = Array.isArray(parts) ? parts : [];
    const isNamed = typeof connection === "string" && typeof name === "string" && !others.length;
    return isNamed ? { connection, name } : { connection: text };
  } catch {
    return { connection: text };
  }
}

export function isSessionName(name: unknown): name is string {
  return typeof name === "string" && name !== "" && name.length <= maxNameLength;
}

/** @throws {McpSessionError} `CONNECTION_INVALID` */
export function checkSessionName(name: unknown, field: string): asserts name is string {
  if (isSessionName(name)) return;
  throw invalidOption(field, `must be a text of 1 to ${maxNameLength} characters`);
}
