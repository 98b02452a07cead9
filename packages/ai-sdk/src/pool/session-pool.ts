import {
  createSessionSlot,
  type OnSession,
  type Principal,
  type SessionSlot,
  type SessionSnapshot,
} from "@durable-mcp/core";
import { sessionOptions } from "../connection/define-connection.ts";
import { forwardConnection } from "../connection/forward-connection.ts";
import type { LiveConnection } from "../connection/live-connection.ts";
import { hasSlot, type McpConnection } from "../connection/mcp-connection.ts";
import { isPausing } from "../waiting/waiting-source.ts";
import { createStepTime, type StepTime } from "../connection/step-time.ts";
import type { StepEvents } from "../events/step-events.ts";
import type { ConnectionUse, SlotName, StepSlot } from "../slots/step-slot.ts";
import { createClientOfRun } from "./client-of-run.ts";
import type { ConnectionPool, PooledConnection } from "./connection-pool.ts";
import {
  beginUse,
  handOut,
  openKept,
  type PooledUse,
  probeInUse,
  recoverInUse,
  tell,
  throwIfOver,
  watchRequest,
} from "./pooled-use.ts";
import { endUse } from "./end-use.ts";
import { describeProcesses, poolKey } from "./pooled-processes.ts";
import { joinSharedUse } from "./shared-use.ts";

/** The part of the pool that belongs to one agent session. A run takes clients and gives them back. */
export type SessionPool = ReturnType<typeof createSessionPool>;

/** @param scope the parts that name the agent session */
export function createSessionPool(pool: ConnectionPool, scope: readonly unknown[]) {
  const reserved = new Map<SessionSlot, { key: string; pooled: PooledConnection }>();
  const keyOf = (slot: SlotName, principal: Principal | undefined) =>
    poolKey(scope, slot, principal);

  return {
    /** Makes the slot for a saved session, or finds the slot of a live client on that session. */
    createSlot(
      slot: SlotName,
      principal: Principal,
      definition: McpConnection,
      snapshot?: SessionSnapshot,
    ): SessionSlot {
      const key = keyOf(slot, principal);
      const pooled = pool.take(key, definition, snapshot);
      if (pooled?.session === undefined) return createSessionSlot(snapshot);
      reserved.set(pooled.session, { key, pooled });
      return pooled.session;
    },

    /**
     * Connects for one run. Closing the connection gives its client back.
     *
     * @param stepSlot has a slot from `createSlot`; `undefined` without a session
     * @param events of the run
     * @param makeFor makes the connection that the pool keeps; its events are of the run that has it
     */
    connect(
      { slot, principal, definition, step, idleTimeoutMs }: ConnectionUse,
      stepSlot: StepSlot | undefined,
      events: StepEvents,
      makeFor: MakeFor,
    ): LiveConnection {
      const { slot: session, onSession } = stepSlot ?? {};
      const key = keyOf(slot, principal);
      const make = () =>
        createPooled(
          { slot, definition, session, onSession, events },
          ...([makeFor, pool.now(), idleTimeoutMs] as const),
        );
      const begin = (runSignal: AbortSignal) => {
        const found = session ? reserved.get(session)?.pooled : pool.take(key, definition);
        if (session) reserved.delete(session);
        if (found) Object.assign(found, { onSession, events });
        const use = beginUse({ pool, key, found, make, runSignal });
        const connection = connectionInUse(use);
        return { connection, pooled: () => use.entry, end: async () => await endUse(use) };
      };
      const isShared = definition.type === "mcp-stdio" && slot.name !== undefined;
      if (!isShared) return begin(step.signal).connection;
      // The process goes on when a run that uses it is aborted.
      const beginShared = () => begin(new AbortController().signal);
      const connection = joinSharedUse(pool.shared, key, step.signal, beginShared);
      const entry = pool.shared.get(key)!.pooled();
      entry.keepAliveMs = idleTimeoutMs ?? entry.keepAliveMs;
      return connection;
    },

    /** The principal's processes under names: in use, or waiting for the next run. */
    processes: (principal: Principal | undefined) => describeProcesses(pool, scope, principal),

    /** Closes the kept client of a slot, if no run has it. */
    close: (slot: SlotName, principal: Principal) =>
      pool.closeKept(keyOf(slot, principal), "stale"),

    /** Gives back the clients of slots that were never connected: of one slot, or of all. */
    giveBack(only?: SessionSlot) {
      for (const [session, { key, pooled }] of reserved) {
        if (only !== undefined && only !== session) continue;
        reserved.delete(session);
        pool.give(key, pooled, { isUnused: true });
      }
    },
  };
}

type OwnParts = Pick<PooledConnection, "slot" | "definition" | "session" | "onSession" | "events">;

type MakeFor = (time: StepTime, onSession: OnSession, events: StepEvents) => LiveConnection;

function createPooled(
  parts: OwnParts,
  makeFor: MakeFor,
  now: number,
  keepAliveMs: number | undefined,
): PooledConnection {
  const time = createStepTime();
  const own: Omit<PooledConnection, "connection"> = {
    ...parts,
    kept: undefined,
    idleSince: now,
    isSuspect: false,
    isTold: false,
    time,
    keepAliveMs,
  };
  const events: StepEvents = {
    ...parts.events,
    emit: (event) => own.events.emit(event),
    countRequest: (connection) => own.events.countRequest(connection),
  };
  const connection = makeFor(time, (snapshot) => own.onSession?.(snapshot), events);
  return Object.assign(own, { connection });
}

function connectionInUse(use: PooledUse): LiveConnection {
  /** The run that took it, and the runs inside. */
  let runs = 0;
  const clientOfRun = createClientOfRun({
    throwIfOver: () => throwIfOver(use),
    watched: (request) => watchRequest(use, request),
    leaveSomething: () => handOut(use),
  });
  return forwardConnection(() => use.entry.connection, {
    abortSignal: use.runSignal,
    createFetch(options) {
      handOut(use);
      return use.entry.connection.createFetch(options);
    },
    client: async () => clientOfRun(await openKept(use, (kept) => kept.client())),
    withKept: (open) => openKept(use, open),
    probe: (signal) => probeInUse(use, signal),
    noteRun() {
      runs += 1;
      // When it is ready, the first one is told of.
      if (runs === 1) return;
      const isUnopened = use.phase === "made" && use.calls + use.connecting === 0;
      tell(use, isUnopened ? "miss" : "hit");
    },
    // The pool tells of it.
    noteClosed: () => undefined,
    // The pool closes the clients.
    openings: new Set(),
    async settle() {
      const { connection, session } = use.entry;
      await Promise.allSettled([...connection.openings, session?.settle()]);
    },
    withRecovery: (tool, attempt) => recoverInUse(use, tool, attempt),
    endLooseSessions: () => endUse(use),
  });
}

/** Whether a connection's client may outlive a run. It may not if a part of it belongs to the run. */
export function mayBeKept(definition: McpConnection): boolean {
  if (definition.options.reuse === false) return false;
  if (definition.type !== "mcp-client") return true;
  const { headers = {}, authProvider, fetch } = definition.options;
  // The session of `except` ends with the run.
  if (sessionOptions(definition).except !== undefined) return false;
  // Here `@ai-sdk/mcp` sets the headers itself, and keeps those of the first run.
  const isOurs = hasSlot(definition) || isPausing(definition);
  const isLeftToClient = !isOurs && authProvider !== undefined && !fetch;
  const isAsked = [headers, ...Object.values(headers)].some((each) => typeof each === "function");
  return !(isLeftToClient && isAsked);
}
