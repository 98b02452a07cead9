import type { ActiveSessionSnapshot, SessionSnapshot } from "@durable-mcp/core";

/** An agent session, and a time: in `users` the start of the MCP session that its model knows. */
type SessionUser = readonly [sessionId: string, at: number];

/** The users of a shared session, those noted last at the end. */
export type SessionUsers = readonly SessionUser[];

/** The part of a record that says who uses its session. */
interface UsedRecord {
  /** Tells an MCP session from those before it. */
  readonly startedAt?: number | undefined;
  readonly users?: SessionUsers | undefined;
}

/** A record has room for so many. Models of others are only told of a loss that their own run meets. */
const maxUsers = 50;

export function isSessionUsers(value: unknown): value is SessionUsers {
  return (
    Array.isArray(value) &&
    value.every(
      (user) =>
        Array.isArray(user) &&
        user.length === 2 &&
        typeof user[0] === "string" &&
        Number.isFinite(user[1]),
    )
  );
}

/** The users with this one as the last. */
export function noteUser(users: SessionUsers = [], user: SessionUser): SessionUsers {
  return [...users.filter(([id]) => id !== user[0]), user].slice(-maxUsers);
}

/** The users with an agent session that is not among them yet. Its model knows no session but this one. */
export function withNewUser(
  users: SessionUsers | undefined,
  sessionId: string | undefined,
  startedAt = 0,
): SessionUsers | undefined {
  const isKnown = sessionId === undefined || users?.some(([id]) => id === sessionId);
  return isKnown ? users : noteUser(users, [sessionId, startedAt]);
}

/** What the model of an agent session knows of a shared session in one step. */
export type SessionKnowledge = ReturnType<typeof createSessionKnowledge>;

/**
 * Sees to it that the model of each agent session is told, once, that a shared session took the place of
 * the one that it knew, whoever replaced it.
 *
 * @param sessionId the agent session's id; `undefined` if the session is not shared
 * @param record the stored record at the start of the step
 */
export function createSessionKnowledge(
  sessionId: string | undefined,
  record: UsedRecord | undefined,
) {
  const knownIn = ({ users = [] }: UsedRecord) => users.find(([id]) => id === sessionId)?.[1];
  /** The start of the MCP session in use, and of the one that the model knows. */
  let current = record?.startedAt;
  let known = (record && knownIn(record)) ?? current;

  return {
    /** The stored snapshot to begin with. */
    begin: (snapshot: SessionSnapshot | undefined) =>
      sessionId !== undefined && known !== current && isSession(snapshot)
        ? untold(snapshot)
        : snapshot,
    /** Notes the session in use from now on: the step's own, or another process's in its place. */
    use(startedAt: number | undefined, saved: ActiveSessionSnapshot, own: ActiveSessionSnapshot) {
      current = startedAt;
      known ??= startedAt;
      return sessionId !== undefined && own.replacesLost ? untold(saved) : saved;
    },
    /**
     * The record at the end of the step, with what the model knows.
     *
     * @param stored the record now
     * @param next what the step writes otherwise
     * @param final the slot's snapshot
     */
    note<RECORD extends UsedRecord>(
      stored: RECORD | undefined,
      next: RECORD | "delete" | "leave",
      final: SessionSnapshot | undefined,
    ): RECORD | "delete" | "leave" {
      if (isSession(final) && !final.replacesLost) known = current;
      const written = next === "leave" ? stored : next;
      if (sessionId === undefined || known === undefined) return next;
      if (written === undefined || written === "delete" || knownIn(written) === known) return next;
      return { ...written, users: noteUser(written.users, [sessionId, known]) };
    },
  };
}

function untold(snapshot: ActiveSessionSnapshot): ActiveSessionSnapshot {
  return { ...snapshot, replacesLost: true };
}

export function isSession(
  snapshot: SessionSnapshot | undefined,
): snapshot is ActiveSessionSnapshot {
  return snapshot?.kind === "session";
}
