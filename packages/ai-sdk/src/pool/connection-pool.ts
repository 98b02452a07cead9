import type { OnSession, SessionSlot, SessionSnapshot } from "@durable-mcp/core";
import { detach, isLost, maxTimerMs, sameJson } from "@durable-mcp/core/internal";
import { isPromise, optionalOptions, wholeNumber } from "../base/check-options.ts";
import { closeConnection, type LiveConnection } from "../connection/live-connection.ts";
import type { McpConnection } from "../connection/mcp-connection.ts";
import type { StepTime } from "../connection/step-time.ts";
import type { ClientClosedReason, ConnectionEvent } from "../events/connection-event.ts";
import type { StepEvents } from "../events/step-events.ts";
import type { SlotName } from "../slots/step-slot.ts";

/** Options of a pool, which keeps live clients between the runs of one process. */
export interface ConnectionPoolOptions {
  /** How long a live client is kept after its last run, in milliseconds. @default 60000 */
  readonly keepAliveMs?: number | undefined;
  /** How many live clients are kept. The one that was used longest ago is closed first. @default 100 */
  readonly max?: number | undefined;
  /**
   * After a pause of this length the server is pinged before its client is used again, in milliseconds.
   * @default 30000
   */
  readonly checkAfterMs?: number | undefined;
}

const limit = wholeNumber(0, maxTimerMs);
export const poolSchema = optionalOptions({ keepAliveMs: limit, max: limit, checkAfterMs: limit });

/** A connection with a live client that outlives a run. One run at a time has it. */
export interface PooledConnection {
  readonly slot: SlotName;
  readonly connection: LiveConnection;
  readonly definition: McpConnection;
  /** The session's slot, if the connection is stateful. */
  readonly session: SessionSlot | undefined;
  /** Where the run that has it saves a new session. */
  onSession: OnSession | undefined;
  /** Of the run that has it, or had it last. */
  events: StepEvents;
  /** The snapshot of the session's slot when it was given back. The run has stored the same. */
  kept: SessionSnapshot | undefined;
  /** When it was given back, in milliseconds since 1970-01-01 UTC. */
  idleSince: number;
  /** Whether a request failed so that the next run must connect anew. */
  isSuspect: boolean;
  /** Whether an event told of its client, so that another one has to tell of its end. */
  isTold: boolean;
  /** How long the pool keeps it. */
  readonly time: StepTime;
  /** How long it is kept without use, in milliseconds. @default the pool's `keepAliveMs` */
  keepAliveMs: number | undefined;
}

/** The use of a process under a name, by all runs that overlap. The last of them ends it. */
export interface SharedUse {
  readonly connection: LiveConnection;
  readonly pooled: () => PooledConnection;
  readonly end: () => Promise<void>;
  runs: number;
}

/** A stdio server that overlapping runs share, or that waits for the next run. */
export interface PooledProcess {
  readonly key: string;
  readonly pooled: PooledConnection;
  readonly isInUse: boolean;
}

/** Whether a later run finds the process by a name, also after it died. */
export function isNamedProcess({ slot, connection }: PooledConnection): boolean {
  return slot.name !== undefined && connection.process !== undefined;
}

/** Keeps live clients between the runs of one agent session and principal. */
export type ConnectionPool = ReturnType<typeof createConnectionPool>;

// oxlint-disable-next-line max-lines-per-function -- its state, and functions of a few lines each
export function createConnectionPool(
  { keepAliveMs = 60_000, max = 100, checkAfterMs = 30_000 }: ConnectionPoolOptions,
  emit: (event: ConnectionEvent) => void,
  now: () => number,
) {
  type Idle = { pooled: PooledConnection; timer: ReturnType<typeof setTimeout> };
  /** The connections that no run has. The one that was used longest ago is first. */
  const idle = new Map<string, Idle>();
  const closings = new Set<Promise<void>>();
  /** The closings that nobody waits for, by the keys of their connections. */
  const closingOf = new Map<string, Promise<void>>();
  /** The processes under names that runs have. */
  const shared = new Map<string, SharedUse>();
  let isClosed = false;

  const remove = (key: string): PooledConnection | undefined => {
    const entry = idle.get(key);
    idle.delete(key);
    clearTimeout(entry?.timer);
    return entry?.pooled;
  };
  /** Closes a connection that a run has. */
  const close = async (pooled: PooledConnection, reason: ClientClosedReason): Promise<void> => {
    const closing = (async () => {
      await closePooled(pooled);
      const event = { type: "client", ...pooled.slot, action: "closed", reason } as const;
      if (pooled.isTold) emit(event);
    })();
    closings.add(closing);
    await closing;
    closings.delete(closing);
  };
  const closeKept = (key: string, reason: ClientClosedReason) => {
    const pooled = remove(key);
    if (pooled === undefined) return;
    const closing = close(pooled, reason).finally(() => {
      if (closingOf.get(key) === closing) closingOf.delete(key);
    });
    closingOf.set(key, closing);
  };

  return {
    now,
    checkAfterMs,
    close,
    shared,
    /** The stdio servers that overlapping runs share, or that wait for the next run. */
    processes(): PooledProcess[] {
      const used = [...shared].map(([key, { pooled }]) => ({
        key,
        pooled: pooled(),
        isInUse: true,
      }));
      const kept = [...idle].map(([key, { pooled }]) => ({ key, pooled, isInUse: false }));
      return [...used, ...kept].filter(({ pooled }) => pooled.connection.process !== undefined);
    },
    /** Closes the connection that is kept under a key, if no run has it. */
    closeKept,
    /** Waits until connections of a key are closed, because they may hold a port or a lock. */
    settle: async (key: string) => await closingOf.get(key),
    /** Takes the connection that is kept under a key, unless the run has another session or declaration. */
    take(key: string, definition: McpConnection, stored?: SessionSnapshot) {
      const pooled = remove(key);
      if (pooled === undefined || fits(pooled, definition, stored)) return pooled;
      void close(pooled, "stale");
      return undefined;
    },
    /** Gives a connection back. If the run did not use it, nothing new is known of its server. */
    give(key: string, pooled: PooledConnection, { isUnused = false } = {}) {
      if (isClosed) {
        void close(pooled, "shutdown");
        return;
      }
      // Two runs at once had one each. The pool keeps the later one's.
      closeKept(key, "max");
      pooled.onSession = undefined;
      if (!isUnused) {
        pooled.idleSince = now();
        pooled.kept = pooled.session?.snapshot;
      }
      const timer = setTimeout(() => closeKept(key, "idle"), pooled.keepAliveMs ?? keepAliveMs);
      detach(timer);
      idle.set(key, { pooled, timer });
      if (idle.size <= max) return;
      // A name is only given up when nothing else is left.
      const [oldest] = [...idle].find((entry) => !isNamedProcess(entry[1].pooled)) ?? [...idle][0]!;
      closeKept(oldest, "max");
    },
    /** Closes all kept connections. From now on each connection is closed when it is given back. */
    async closeAll() {
      isClosed = true;
      for (const key of [...idle.keys()].toReversed()) closeKept(key, "shutdown");
      await Promise.all(closings);
    },
  };
}

/** Whether a run can go on with a connection. */
function fits(
  { session, kept, definition }: PooledConnection,
  declared: McpConnection,
  stored: SessionSnapshot | undefined,
): boolean {
  return (
    sameSession(session?.snapshot, stored) &&
    // If the stored session differs from the last run's, another process has changed it.
    sameDetails(kept, stored) &&
    sameDefinition(definition.options, declared.options)
  );
}

/** Closes a connection that the pool does not keep. Never rejects. */
async function closePooled({ connection, time }: PooledConnection): Promise<void> {
  time.end("closing");
  await closeConnection(connection);
  time.end("closed");
}

/** Whether two snapshots are of the same session. */
function sameSession(a: SessionSnapshot | undefined, b: SessionSnapshot | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  if (a.kind !== b.kind || a.url !== b.url || isLost(a)) return false;
  return a.kind !== "session" || a.sessionId === (b as typeof a).sessionId;
}

/** Whether two snapshots say the same, of a session the same tools and the same loss notice. */
function sameDetails(a: SessionSnapshot | undefined, b: SessionSnapshot | undefined): boolean {
  if (a?.kind !== "session" || b?.kind !== "session") return sameJson(a, b);
  return sameJson(a.toolList, b.toolList) && a.replacesLost === b.replacesLost;
}

/**
 * Whether two declarations of a connection are equal. Functions and instances of classes count as
 * equal, because a `connections` function makes them anew each time. Promises do not: another promise may
 * be of another token.
 */
function sameDefinition(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (typeof a !== typeof b) return false;
  if (typeof a === "function") return true;
  if (typeof a !== "object" || a === null || b === null) return false;
  if (isPromise(a) || isPromise(b)) return false;
  if (a instanceof URL && b instanceof URL) return a.href === b.href;
  return isPlain(a) && isPlain(b!) ? sameEntries(a, b) : !isPlain(a) && !isPlain(b!);
}

function sameEntries(a: Record<string, unknown>, b: Record<string, unknown>): boolean {
  const names = new Set([...Object.keys(a), ...Object.keys(b)]);
  return [...names].every((name) => sameDefinition(a[name], b[name]));
}

function isPlain(value: object): value is Record<string, unknown> {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null || Array.isArray(value);
}
