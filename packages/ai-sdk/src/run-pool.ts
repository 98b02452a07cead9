import type { MCPClient } from "@ai-sdk/mcp";
import {
  createSessionSlot,
  type OnSession,
  type Principal,
  principalParts,
  type SessionSlot,
  type SessionSnapshot,
} from "@durable-mcp/core";
import type { ConnectionEvent } from "./connection-event.ts";
import type { ConnectionPool, PooledConnection } from "./connection-pool.ts";
import { once } from "./once.ts";
import type { RegistryConnection } from "./registry-connection.ts";
import { registryDisposed } from "./registry-disposed.ts";
import { slotName, type SlotName } from "./slot-name.ts";
import { createStepTime, type StepTime } from "./step-time.ts";

/** What a run of one agent session takes from the pool and gives back. */
export interface RunPool {
  /** The slot for what was saved: that of a live client, if there is one on the same session. */
  createSlot(slot: SlotName, principal: Principal, snapshot?: SessionSnapshot): SessionSlot;
  /** A connection as the run uses it; closing it gives its client back. */
  connect(use: {
    readonly slot: SlotName;
    readonly principal: Principal | undefined;
    /** Made by `createSlot`; `undefined` for what has no session. */
    readonly session: SessionSlot | undefined;
    readonly onSession: OnSession | undefined;
    readonly runSignal: AbortSignal;
    /** Makes the connection for as long as the pool keeps it. */
    readonly make: (time: StepTime, onSession: OnSession) => RegistryConnection;
  }): RegistryConnection;
  /** Gives back what was taken for slots that were never connected. */
  release(): void;
}

/** Those of a client's methods that do not return a promise. */
const syncMethods: ReadonlySet<string | symbol> = new Set([
  "onElicitationRequest",
  "toolsFromDefinitions",
]);

/**
 * @param options.scope the parts that name the agent session
 */
export function createRunPool({
  pool,
  scope,
  emit,
  now,
}: {
  pool: ConnectionPool;
  scope: readonly unknown[];
  emit: (event: ConnectionEvent) => void;
  now: () => number;
}): RunPool {
  const reserved = new Map<SessionSlot, { key: string; pooled: PooledConnection }>();
  const keyOf = (slot: SlotName, principal: Principal | undefined) =>
    JSON.stringify([scope, slotName(slot), ...(principal ? principalParts(principal) : [])]);

  return {
    createSlot(slot, principal, snapshot) {
      const key = keyOf(slot, principal);
      const pooled = pool.take(key, snapshot);
      if (pooled?.slot === undefined) return createSessionSlot(snapshot);
      reserved.set(pooled.slot, { key, pooled });
      return pooled.slot;
    },

    connect({ slot, principal, session, onSession, runSignal, make }) {
      const key = keyOf(slot, principal);
      const { connection: name } = slot;
      const tell = (action: "hit" | "miss" | "opened") => emit({ type: "pool", ...slot, action });
      const create = (): PooledConnection => {
        const time = createStepTime();
        const own: PooledConnection = {
          connection: make(time, (snapshot) => own.onSession?.(snapshot)),
          slot: session,
          onSession,
          idleSince: now(),
          end: time.end,
        };
        return own;
      };
      const found = session ? reserved.get(session)?.pooled : pool.take(key, undefined);
      if (session) reserved.delete(session);
      let pooled = found ?? create();
      pooled.onSession = onSession;
      if (found) pooled.connection.renew?.();
      let isOver = false;
      /** Whether somebody has it who does not say when it is done. */
      let isHandedOut = false;
      let pending = 0;
      const clients = new WeakMap<MCPClient, MCPClient>();

      const counted = async <T>(work: () => Promise<T>): Promise<T> => {
        pending += 1;
        try {
          return await work();
        } finally {
          pending -= 1;
        }
      };
      const throwIfOver = () => {
        if (isOver) throw registryDisposed(name);
      };
      /** The client as the run has it: counted, and of no use after the run. */
      const forRun = (client: MCPClient): MCPClient => {
        const known = clients.get(client);
        if (known) return known;
        const own = new Proxy(client, {
          get(target, property) {
            const value: unknown = Reflect.get(target, property, target);
            if (typeof value !== "function") return value;
            const isSync = syncMethods.has(property);
            return (...args: unknown[]) => {
              if (isOver && !isSync) return Promise.reject(registryDisposed(name));
              throwIfOver();
              if (property === "close") isHandedOut = true;
              const result: unknown = value.apply(target, args);
              return result instanceof Promise ? counted(() => result) : result;
            };
          },
        });
        clients.set(client, own);
        return own;
      };
      const makeReady = once(async () => {
        const { connection, idleSince } = pooled;
        if (found !== pooled) return tell("miss");
        if (now() - idleSince >= pool.checkAfterMs) {
          try {
            await connection.probe(AbortSignal.timeout(connection.connectMs));
          } catch {
            await pool.evict(pooled, "unhealthy");
            pooled = create();
            isOpened = false;
            return tell("miss");
          }
        }
        tell("hit");
      });
      let isOpened = found !== undefined;

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
        get lossNotices() {
          return pooled.connection.lossNotices;
        },
        restoreError: (error) => pooled.connection.restoreError(error),
        abortSignal: runSignal,
        createFetch() {
          throwIfOver();
          isHandedOut = true;
          return pooled.connection.createFetch();
        },
        async client() {
          throwIfOver();
          await makeReady();
          const client = await pooled.connection.client();
          throwIfOver();
          if (!isOpened) tell("opened");
          isOpened = true;
          return forRun(client);
        },
        probe: (signal) => counted(() => pooled.connection.probe(signal)),
        // The clients are the pool's to close.
        openings: new Set(),
        async settle() {
          await Promise.allSettled([...pooled.connection.openings, session?.settle()]);
        },
        async withRecovery(tool, attempt) {
          const { connection } = pooled;
          return await counted(() => connection.withRecovery?.(tool, attempt) ?? attempt());
        },
        async endLooseSessions() {
          isOver = true;
          if (pooled.connection.openings.size === 0 && !isHandedOut) return pooled.end("closed");
          if (pending > 0 || isHandedOut) return await pool.evict(pooled, "busy");
          pool.give(key, pooled);
        },
      };
    },

    release() {
      for (const { key, pooled } of reserved.values()) pool.give(key, pooled);
      reserved.clear();
    },
  };
}
