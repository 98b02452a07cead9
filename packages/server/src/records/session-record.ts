import * as z from "zod/mini";
import type { HandlerSettings } from "../base/settings.ts";

const object = z.record(z.string(), z.unknown());

const schema = z.object({
  version: z.literal(1),
  /** Structural key of the principal. */
  owner: z.string(),
  createdAt: z.number(),
  usedAt: z.number(),
  /** Counts the writes: of two copies, the one with more is the newer. */
  changes: z.number(),
  /** The parameters of the client's `initialize`. */
  initialize: z.looseObject({ protocolVersion: z.string(), capabilities: object }),
  /** The negotiated revision. */
  protocolVersion: z.string(),
  initialized: z.boolean(),
  logLevel: z.optional(z.string()),
  subscriptions: z.array(z.string()),
  /** Counts the changes of `state`; a change of another field leaves it. */
  stateVersion: z.number(),
  /** The names of the last writes of `state`: a writer that got no answer finds its own there. */
  stateWriters: z.optional(z.array(z.string())),
  state: object,
});

/** A session as it is stored. Times are milliseconds since 1970-01-01 UTC. */
export type SessionRecord = z.infer<typeof schema>;

/** `undefined` for a value of another version of this package, or of another program. */
export function parseSessionRecord(value: unknown): SessionRecord | undefined {
  const parsed = z.safeParse(schema, value);
  return parsed.success ? (value as SessionRecord) : undefined;
}

/** The record of a new session; `protocolVersion` is empty until the server has negotiated one. */
export function newSessionRecord(
  owner: string,
  initialize: SessionRecord["initialize"],
  protocolVersion: string,
  state: object,
  at: number,
): SessionRecord {
  return {
    ...{ version: 1, owner, createdAt: at, usedAt: at, changes: 0, initialize, protocolVersion },
    ...{ initialized: protocolVersion !== "", subscriptions: [], stateVersion: 0 },
    state: { ...state },
  };
}

type Timeouts = HandlerSettings["timeouts"];

export function expiryOf(record: SessionRecord, { absoluteMs, idleMs }: Timeouts): number {
  return Math.min(record.createdAt + absoluteMs, record.usedAt + idleMs);
}

/** Whether the stored time of last use is due to be written again; not on every request. */
export function isUseStale(record: SessionRecord, { idleMs }: Timeouts, now: number): boolean {
  return now - record.usedAt > Math.min(idleMs / 10, 60_000);
}
