import * as z from "zod/mini";

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
  /** What was negotiated. */
  protocolVersion: z.string(),
  initialized: z.boolean(),
  logLevel: z.optional(z.string()),
  subscriptions: z.array(z.string()),
  /** Counts the changes of `state`; a change of anything else leaves it. */
  stateVersion: z.number(),
  /** The names of the last writes of `state`, by which a writer that got no answer knows its own. */
  stateWriters: z.optional(z.array(z.string())),
  state: object,
});

/** A session as it is stored. Times are milliseconds since 1970-01-01 UTC. */
export type SessionRecord = z.infer<typeof schema>;

/** `undefined` for what another version of this package, or somebody else, wrote. */
export function parseSessionRecord(value: unknown): SessionRecord | undefined {
  const parsed = z.safeParse(schema, value);
  return parsed.success ? (value as SessionRecord) : undefined;
}

/** When a session ends by itself. */
export interface SessionLifetime {
  readonly idleTimeoutMs: number;
  readonly absoluteTimeoutMs: number;
}

export function expiryOf(record: SessionRecord, lifetime: SessionLifetime): number {
  return Math.min(
    record.createdAt + lifetime.absoluteTimeoutMs,
    record.usedAt + lifetime.idleTimeoutMs,
  );
}

/** Whether the time of last use is so old that it must be written anew; not on every request. */
export function isUseStale(record: SessionRecord, lifetime: SessionLifetime, now: number): boolean {
  return now - record.usedAt > Math.min(lifetime.idleTimeoutMs / 10, 60_000);
}
