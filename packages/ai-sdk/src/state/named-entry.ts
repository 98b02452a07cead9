import { isTimerMs } from "@durable-mcp/core/internal";
import {
  parseSessionSnapshot,
  type Principal,
  type SessionSnapshot,
  sessionKey,
} from "@durable-mcp/core";
import * as z from "zod/mini";
import { isSessionName, type NamedSlot, parseSlotName, slotName } from "../slots/slot-name.ts";

/** A state's entry for one connection's named session. Times are milliseconds since 1970-01-01 UTC. */
export interface NamedEntry {
  readonly version: 1;
  readonly snapshot: SessionSnapshot;
  /** When the MCP session was made. */
  readonly startedAt?: number | undefined;
  /** When the last step with it ended. */
  readonly lastUsedAt: number;
  readonly idleTimeoutMs?: number | undefined;
}

const entrySchema = z.strictObject({
  version: z.literal(1),
  snapshot: z.unknown(),
  startedAt: z.optional(z.number()),
  lastUsedAt: z.number(),
  idleTimeoutMs: z.optional(z.custom(isTimerMs)),
});

/** Parses an entry from outside; `undefined` if it does not parse. */
export function parseNamedEntry(value: unknown): NamedEntry | undefined {
  const isRecord = typeof value === "object" && value !== null;
  // The schema reads inherited keys too.
  if (
    !isRecord ||
    !["version", "snapshot", "lastUsedAt"].every((key) => Object.hasOwn(value, key))
  ) {
    return undefined;
  }
  const { success, data } = z.safeParse(entrySchema, { ...value });
  if (!success) return undefined;
  try {
    return { ...(data as NamedEntry), snapshot: parseSessionSnapshot(data.snapshot) };
  } catch {
    return undefined;
  }
}

/** The key of a named session of one principal in a state. */
export function namedKey(slot: NamedSlot, principal: Principal): string {
  return sessionKey({ connection: slotName(slot), principal });
}

/** The principal's named session that a key belongs to; `undefined` for all other keys. */
export function parseNamedKey(key: string, principal: Principal): NamedSlot | undefined {
  // The keys of named sessions all start like this.
  if (!key.startsWith('["[')) return undefined;
  try {
    const [first] = JSON.parse(key) as unknown[];
    const { connection, name } = parseSlotName(first as string);
    if (!isSessionName(name)) return undefined;
    return namedKey({ connection, name }, principal) === key ? { connection, name } : undefined;
  } catch {
    return undefined;
  }
}
