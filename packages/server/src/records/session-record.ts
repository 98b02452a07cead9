import * as z from "zod/mini";
import type { HandlerSettings } from "../base/settings.ts";
import type { StoredState } from "../state/stored-state.ts";

const object = z.record(z.string(), z.unknown());
const id = z.union([z.string(), z.number()]);

const schema = z.object({
  version: z.literal(1),
  /** Structural key of the principal. */
  owner: z.string(),
  createdAt: z.number(),
  usedAt: z.number(),
  /** Counts the writes: of two copies, the one with more is the newer. */
  changes: z.number(),
  /** Names the last write: who got no answer to a write finds out whether it was done. */
  writer: z.optional(z.string()),
  /** The parameters of the client's `initialize`. */
  initialize: z.looseObject({ protocolVersion: z.string(), capabilities: object }),
  /** The negotiated revision. */
  protocolVersion: z.string(),
  initialized: z.boolean(),
  logLevel: z.optional(z.string()),
  subscriptions: z.array(z.string()),
  /** Requests that the client cancelled at a replica that did not have them, by `changes`. */
  cancelled: z.optional(z.array(z.object({ id, change: z.number() }))),
  /** Calls that wait for their client's answers, the ids of their requests, and until when. */
  questions: z.optional(z.array(z.object({ call: z.string(), id, until: z.number() }))),
  state: object,
});

/** A session as it is stored. Times are milliseconds since 1970-01-01 UTC. */
export type SessionRecord = Omit<z.infer<typeof schema>, "state"> & {
  readonly state: StoredState;
};

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
  state: StoredState,
  at: number,
): SessionRecord {
  return {
    ...{ version: 1, owner, createdAt: at, usedAt: at, changes: 0, initialize, protocolVersion },
    ...{ initialized: protocolVersion !== "", subscriptions: [], state },
  };
}

type Timeouts = HandlerSettings["timeouts"];

/** A call that waits for an answer keeps its session beyond `idleMs`, and not beyond `absoluteMs`. */
export function expiryOf(record: SessionRecord, { absoluteMs, idleMs }: Timeouts): number {
  const waits = record.questions?.map(({ until }) => until) ?? [];
  return Math.min(record.createdAt + absoluteMs, Math.max(record.usedAt + idleMs, ...waits));
}

/** The calls of a session that wait for its client. */
export function waitingCalls(
  { questions = [] }: SessionRecord,
  now: number,
): NonNullable<SessionRecord["questions"]> {
  return questions.filter(({ until }) => until > now);
}

/** How old the stored time of last use may become, in milliseconds. It is not written on every request. */
export function renewAfter({ idleMs }: Timeouts): number {
  return Math.min(idleMs / 10, 60_000);
}

/** Cancellations that a session's record keeps, and their JSON characters; older ones have met their calls, or none. */
const maxCancelled = 100;
const maxCancelledLength = 32_768;

/** The cancellations to keep. */
export function newestOf(
  cancelled: NonNullable<SessionRecord["cancelled"]>,
): SessionRecord["cancelled"] {
  const kept = cancelled.slice(-maxCancelled);
  while (JSON.stringify(kept).length > maxCancelledLength) kept.shift();
  return kept;
}
