import type {
  ActiveSessionSnapshot,
  OnSession,
  Principal,
  SessionFetchOptions,
  SessionSlot,
} from "@durable-mcp/core";
import { invalidOption } from "@durable-mcp/core/internal";
import { isSessionName } from "../base/session-name.ts";
import type { Connections, McpConnection } from "../declare/mcp-connection.ts";
import type { StepTime } from "../connection/step-time.ts";

/** The slot of a connection in one step, and the hook that saves its sessions. */
export interface StepSlot {
  readonly slot: SessionSlot;
  readonly onSession?: OnSession | undefined;
  /** Looks for a session that another process has saved in the place of a lost one. */
  readonly findSession?: SessionFetchOptions["findSession"];
  /** Whether the step lists the tools as soon as it is connected, so that they can be saved with a session. */
  readonly listsTools?: boolean | undefined;
  /** A longer tool list, as JSON, is only kept for the step. @default as in core */
  readonly maxListLength?: number | undefined;
  /** Marks the record as used. Awaited before the first request. */
  readonly beforeUse?: (() => Promise<void>) | undefined;
  /** A kept session that another one replaces in this step. */
  readonly outdated?: ActiveSessionSnapshot | undefined;
}

/** What is connected, for whom, and for how long. */
export interface ConnectionUse {
  readonly slot: SlotName;
  readonly definition: McpConnection;
  readonly principal: Principal | undefined;
  readonly step: StepTime;
  /** How long a pool keeps a process under a name without use, in milliseconds. */
  readonly idleTimeoutMs?: number | undefined;
}

/** Names one of a connection's sessions. */
export interface SlotName {
  /** The name of the connection. */
  readonly connection: string;
  /** The name of a named session; `undefined` for the session without a name. */
  readonly name?: string | undefined;
  /** The id of a session that agent sessions share; it has no name then. */
  readonly shared?: string | undefined;
}

/** Names a named session. */
export interface NamedSlot extends SlotName {
  readonly name: string;
}

/** The slot of a connection in a run that gives it no mode: the shared one, if its definition has one. */
export function ownSlot(connection: string, definition: McpConnection): SlotName {
  const { session } = definition.options;
  const { shared } = { shared: undefined, ...(typeof session === "object" && session) };
  return { connection, ...(shared !== undefined && { shared }) };
}

/** `CONNECTION_INVALID` for a shared session where no other agent session could find it. */
export function sharedNeedsStore(field: string) {
  return invalidOption(
    field,
    "needs durable sessions: only in a store do the agent sessions of a principal find one session. A state that you carry, and a run that keeps nothing, have no such place. Use createDurableSessions",
  );
}

/** @throws {McpSessionError} `CONNECTION_INVALID` for a shared session that nobody else could find */
export function refuseShared(declared: Connections): void {
  for (const [connection, definition] of Object.entries(declared)) {
    if (ownSlot(connection, definition).shared === undefined) continue;
    throw sharedNeedsStore(`connections.${connection}.session.shared`);
  }
}

/** The first character of each named session's slot name. No connection's name begins with it. */
export const slotNameStart = "[";

/**
 * The text that names a session in keys: the connection's name, or a JSON array with the name of a named
 * session, or with the id of a shared one. Shared ones have keys that no other session has.
 */
export function slotName({ connection, name, shared = name }: SlotName): string {
  return shared === undefined ? connection : JSON.stringify([connection, shared]);
}

/** The parts that tell one session of a connection from all others. */
export function slotParts({ connection, name, shared }: SlotName): readonly unknown[] {
  return [connection, name ?? null, shared ?? null];
}

/** Reads what `slotName` made. Any other text is the name of a connection. */
export function parseSlotName(text: string): SlotName {
  if (!text.startsWith(slotNameStart)) return { connection: text };
  try {
    const parts: unknown = JSON.parse(text);
    const [connection, name, ...others] = Array.isArray(parts) ? parts : [];
    const isNamed = typeof connection === "string" && isSessionName(name) && !others.length;
    // One session has one key.
    if (!isNamed || slotName({ connection, name }) !== text) return { connection: text };
    return { connection, name };
  } catch {
    return { connection: text };
  }
}
