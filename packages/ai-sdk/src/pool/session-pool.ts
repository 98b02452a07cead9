import {
  createSessionSlot,
  McpSessionError,
  type OnSession,
  type Principal,
  principalParts,
  type SessionSlot,
  type SessionSnapshot,
} from "@durable-mcp/core";
import { closeConnection } from "../connection/close-connection.ts";
import { createClientOfRun } from "./client-of-run.ts";
import type { ConnectionEvent } from "../events/connection-event.ts";
import type { ConnectionPool, PooledConnection } from "./connection-pool.ts";
import type { McpConnection } from "../connection/mcp-connection.ts";
import { once } from "../base/once.ts";
import type { LiveConnection } from "../connection/live-connection.ts";
import { registryDisposed } from "../errors/connection-error.ts";
import { slotName, type SlotName } from "../slots/slot-name.ts";
import { createStepTime, type StepTime } from "../connection/step-time.ts";

/** What a run of one agent session takes from the pool and gives back. */
export interface SessionPool {
  /** The slot for what was saved: that of a live client, if there is one on the same session. */
  createSlot(
    slot: SlotName,
    principal: Principal,
    definition: McpConnection,
    snapshot?: SessionSnapshot,
  ): SessionSlot;
  /** A connection as the run uses it; closing it gives its client back. */
  connect(use: {
    readonly slot: SlotName;
    readonly principal: Principal | undefined;
    readonly definition: McpConnection;
    /** Made by `createSlot`; `undefined` for what has no session. */
    readonly session: SessionSlot | undefined;
    readonly onSession: OnSession | undefined;
    readonly runSignal: AbortSignal;
    /** Makes the connection for as long as the pool keeps it. */
    readonly make: (time: StepTime, onSession: OnSession) => LiveConnection;
  }): LiveConnection;
  /** Closes what is kept for a slot, if no run has it. */
  evict(slot: SlotName, principal: Principal): void;
  /** Gives back what was taken for slots, or one, that were never connected. */
  release(session?: SessionSlot): void;
}

/**
 * @param options.scope the parts that name the agent session
 */
export function createSessionPool({
  pool,
  scope,
  emit,
  now,
}: {
  pool: ConnectionPool;
  scope: readonly unknown[];
  emit: (event: ConnectionEvent) => void;
  now: () => number;
}): SessionPool {
  const reserved = new Map<SessionSlot, { key: string; pooled: PooledConnection }>();
  const keyOf = (slot: SlotName, principal: Principal | undefined) =>
    JSON.stringify([scope, slotName(slot), ...(principal ? principalParts(principal) : [])]);

  return {
    createSlot(slot, principal, definition, snapshot) {
      const key = keyOf(slot, principal);
      const pooled = pool.take(key, { definition, snapshot });
      if (pooled?.slot === undefined) return createSessionSlot(snapshot);
      reserved.set(pooled.slot, { key, pooled });
      return pooled.slot;
    },

    connect({ slot, principal, definition, session, onSession, runSignal, make }) {
      const key = keyOf(slot, principal);
      const { connection: name } = slot;
      const tell = (action: "hit" | "miss" | "opened") => emit({ type: "pool", ...slot, action });
      const create = (): PooledConnection => {
        const time = createStepTime();
        const own: PooledConnection = {
          connection: make(time, (snapshot) => own.onSession?.(snapshot)),
          definition,
          slot: session,
          onSession,
          kept: undefined,
          idleSince: now(),
          end: time.end,
        };
        return own;
      };
      const found = session ? reserved.get(session)?.pooled : pool.take(key, { definition });
      if (session) reserved.delete(session);
      let pooled = found ?? create();
      pooled.onSession = onSession;
      if (found) pooled.connection.renew?.();
      let isOver = false;
      let isUsed = found === undefined;
      /** Whether somebody has it who does not say when it is done. */
      let isHandedOut = false;
      /** Whether its handshake was given up with the run. */
      let isAbandoned = false;
      /** Whether what was found has answered this run. */
      let isProven = false;
      /** Whether the server refused something, for which it is to be connected anew. */
      let isSuspect = false;
      let pending = 0;
      let opening = 0;

      const counted = async <T>(work: () => Promise<T>): Promise<T> => {
        pending += 1;
        try {
          return await work();
        } finally {
          pending -= 1;
        }
      };
      /** What may connect: of no use to a later run if this one is over first. */
      const connecting = async <T>(work: () => Promise<T>): Promise<T> => {
        opening += 1;
        try {
          return await work();
        } finally {
          opening -= 1;
        }
      };
      const abandon = () => {
        if (opening === 0) return;
        isAbandoned = true;
        pooled.end("closed");
      };
      runSignal.addEventListener("abort", abandon, { once: true });
      const watched = async <T>(request: () => T | Promise<T>): Promise<T> => {
        try {
          return await request();
        } catch (error) {
          if (!isRecovered() && !isAnswer(error)) isSuspect = true;
          throw error;
        }
      };
      const throwIfOver = () => {
        if (isOver) throw registryDisposed(name);
      };
      const forRun = createClientOfRun({
        throwIfOver,
        watched: (request) => counted(() => watched(request)),
        leaveSomething: () => (isHandedOut = true),
      });
      let replacing: Promise<void> | undefined;
      /** Another in the place of what was found, which is closed first. */
      const replace = (dead: PooledConnection): Promise<void> => {
        replacing ??= (async () => {
          pooled = create();
          isOpened = false;
          await pool.evict(dead, "unhealthy");
          tell("miss");
        })();
        return replacing;
      };
      /** Whether a server that forgot the client is met by something below. */
      const isRecovered = () =>
        pooled.connection.session === "process" || session?.snapshot?.kind === "session";
      const canBeReplaced = (used: PooledConnection, error: unknown) =>
        used === found &&
        !isProven &&
        !isOver &&
        !runSignal.aborted &&
        !isLost(error) &&
        !isAnswer(error);
      const makeReady = once(async () => {
        runSignal.throwIfAborted();
        const { connection, idleSince } = pooled;
        isUsed = true;
        if (found !== pooled) {
          await (replacing ?? pool.settle(key));
          return replacing ? undefined : tell("miss");
        }
        if (now() - idleSince >= pool.checkAfterMs) {
          try {
            const timeout = AbortSignal.timeout(connection.connectMs);
            await connection.probe(AbortSignal.any([runSignal, timeout]));
          } catch {
            throwIfOver();
            runSignal.throwIfAborted();
            return await replace(found);
          }
        }
        tell("hit");
      });
      let isOpened = found !== undefined;
      const withKept: NonNullable<LiveConnection["withKept"]> = async (open) => {
        throwIfOver();
        return await counted(() =>
          connecting(async () => {
            await makeReady();
            throwIfOver();
            const client = await open(pooled.connection);
            throwIfOver();
            if (!isOpened) tell("opened");
            isOpened = true;
            return client;
          }),
        );
      };

      return {
        name,
        get definition() {
          return pooled.connection.definition;
        },
        get origin() {
          return pooled.connection.origin;
        },
        get session() {
          return pooled.connection.session;
        },
        get connectMs() {
          return pooled.connection.connectMs;
        },
        // Tools are bound to it before it is known whether what was found is still of use.
        lossNotices: pooled.connection.lossNotices && {
          take: () => pooled.connection.lossNotices!.take(),
          mark: (...result) => pooled.connection.lossNotices!.mark(...result),
          tell: async (...result) => await pooled.connection.lossNotices!.tell(...result),
        },
        get trace() {
          return pooled.connection.trace;
        },
        restoreError: (error) => pooled.connection.restoreError(error),
        abortSignal: runSignal,
        createFetch() {
          throwIfOver();
          isHandedOut = true;
          return pooled.connection.createFetch();
        },
        client: async () => forRun(await withKept((kept) => kept.client())),
        withKept,
        async probe(signal) {
          throwIfOver();
          isUsed = true;
          const used = pooled;
          const ask = async () => {
            try {
              await used.connection.probe(signal);
            } catch (error) {
              if (canBeReplaced(used, error)) await replace(used);
              throw error;
            }
          };
          await counted(() => connecting(ask));
        },
        // The clients are the pool's to close.
        openings: new Set(),
        async settle() {
          await Promise.allSettled([...pooled.connection.openings, session?.settle()]);
        },
        async withRecovery(tool, attempt) {
          return await counted(async () => {
            await makeReady();
            const used = pooled;
            try {
              const result = await (used.connection.withRecovery?.(tool, attempt) ?? attempt());
              isProven = true;
              return result;
            } catch (error) {
              if (!isRecovered() && !isAnswer(error)) isSuspect = true;
              if (tool !== undefined || !canBeReplaced(used, error)) throw error;
              await replace(used);
              isSuspect = false;
              throwIfOver();
              return await attempt();
            }
          });
        },
        async endLooseSessions() {
          isOver = true;
          runSignal.removeEventListener("abort", abandon);
          if (!isUsed && !isHandedOut) return pool.give(key, pooled, { isUnused: true });
          if (pooled.connection.openings.size === 0 && !isHandedOut) {
            // There may be a session all the same, or a process, that did not get to be a client.
            pooled.end("closing");
            await closeConnection(pooled.connection, emit);
            return pooled.end("closed");
          }
          if (pending > 0 || isHandedOut || isAbandoned) return await pool.evict(pooled, "busy");
          if (isSuspect) return await pool.evict(pooled, "unhealthy");
          pool.give(key, pooled);
        },
      };
    },

    evict: (slot, principal) => pool.drop(keyOf(slot, principal)),

    release(only) {
      for (const [session, { key, pooled }] of reserved) {
        if (only !== undefined && only !== session) continue;
        reserved.delete(session);
        pool.give(key, pooled, { isUnused: true });
      }
    },
  };
}

/** Whether an application that asked to be told is told: nothing is put in the place of what it lost. */
function isLost(error: unknown): boolean {
  return McpSessionError.isInstance(error) && error.code === "SESSION_LOST";
}

/** JSON-RPC codes of clients: the connection closed, the request took too long. */
const ownCodes: ReadonlySet<unknown> = new Set([-32000, -32001]);

/** Whether a server that is there says no. */
function isAnswer(error: unknown): boolean {
  const { code, statusCode } = (error ?? {}) as { code?: unknown; statusCode?: unknown };
  return statusCode === undefined && typeof code === "number" && code < 0 && !ownCodes.has(code);
}
