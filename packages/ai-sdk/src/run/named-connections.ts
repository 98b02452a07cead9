import { type Principal, principalParts } from "@durable-mcp/core";
import type { EndedSession } from "../slots/session-reports.ts";
import {
  describeProcess,
  type ListedSession,
  type NamedEnd,
  type NamedSlots,
  type NamedStart,
} from "../slots/named-slots.ts";
import { type NamedSlot, type SlotName, slotParts, type StepSlot } from "../slots/step-slot.ts";
import type { LiveConnection } from "../connection/live-connection.ts";
import type { McpConnection } from "../connection/mcp-connection.ts";
import {
  createReplaceableConnection,
  type ReplaceableConnection,
} from "../connection/forward-connection.ts";
import type { RunLifetime } from "./run-lifetime.ts";

/** For whom a name is used, and the definition of its connection. */
interface NameUse extends Omit<NamedStart, "principal" | "definition"> {
  /** `undefined` if no declared connection needs one. Then the connection's server is a process. */
  readonly principal: Principal | undefined;
  readonly definition: McpConnection;
}

interface NamedConnectionsOptions {
  slots: NamedSlots;
  /** Makes a connection for the rest of the step. Processes have no slot. */
  connect: (slot: SlotName, use: NameUse, stepSlot: StepSlot | undefined) => LiveConnection;
  /** The processes under names that the pool has. */
  pooledProcesses: (principal: Principal | undefined) => ListedSession[];
  now: () => number;
  /** The lifetime of the step, which closes the connections. */
  lifetime: RunLifetime;
}

/** The live connections of named and shared sessions: one each for all runs of a step. */
export type NamedConnections = ReturnType<typeof createNamedConnections>;

// oxlint-disable-next-line max-lines-per-function -- its state, and functions of a few lines each
export function createNamedConnections(options: NamedConnectionsOptions) {
  const { slots, connect, lifetime } = options;
  const live = new Map<string, { slot: SlotName; connection: ReplaceableConnection }>();
  const shared = new Map<string, LiveConnection>();
  const inTurn = createTurns();

  const connectTo = async (slot: SlotName, use: NameUse) => {
    const { definition, principal } = use;
    if (definition.type === "mcp-stdio") {
      lifetime.throwIfOver();
      return connect(slot, use, undefined);
    }
    const stepSlot = await slots.open(slot, { ...use, definition, principal: principal! });
    lifetime.throwIfOver();
    return connect(slot, use, stepSlot);
  };

  const openNow = async (slot: SlotName, use: NameUse): Promise<ReplaceableConnection> => {
    const first = await connectTo(slot, use);
    const why = `its session ${JSON.stringify(slot.name ?? slot.shared)} is being ended, or has ended.`;
    const connection = createReplaceableConnection(first, why);
    lifetime.adopt(connection);
    live.set(keyOf(slot, use), { slot, connection });
    return connection;
  };
  const find = (key: string) => live.get(key)?.connection;

  /** Closes the connection, then works on the session. After a restart, its runs continue in another. */
  const whileClosed = async <T>(
    slot: NamedSlot,
    { principal, definition, mode }: NamedEnd,
    work: () => Promise<T>,
  ): Promise<T> => {
    const key = keyOf(slot, { principal });
    return await inTurn(key, async () => {
      const connection = find(key);
      await connection?.clear();
      if (mode === "end") live.delete(key);
      try {
        return await work();
      } finally {
        if (mode === "restart" && connection && definition) {
          connection.fill(await connectTo(slot, { principal, definition }));
        }
      }
    });
  };

  return {
    /** Lets runs inside find the step's own connection on a shared session. */
    share(slot: SlotName, principal: Principal, connection: LiveConnection) {
      shared.set(keyOf(slot, { principal }), connection);
    },

    /** @throws {McpSessionError} `STORE_FAILED` */
    async open(slot: SlotName, use: NameUse): Promise<LiveConnection> {
      const key = keyOf(slot, use);
      const own = shared.get(key);
      if (own !== undefined) return own;
      return await inTurn(key, async () => find(key) ?? (await openNow(slot, use)));
    },

    /** The processes under names that this step, or a run around it, has, or that wait in the pool. */
    processes(principal: Principal | undefined): ListedSession[] {
      const pooled = options.pooledProcesses(principal);
      const own = [...live].flatMap(([key, { slot, connection }]) =>
        key === keyOf(slot, { principal }) ? describeProcess(slot, connection, options.now()) : [],
      );
      const isPooled = ({ connection, name }: NamedSlot) =>
        pooled.some((each) => each.connection === connection && each.name === name);
      return [...pooled, ...own.filter((each) => !isPooled(each))];
    },

    /** Ends a process. After a restart its runs, and later ones, go on in another. */
    async endProcess(slot: NamedSlot, use: NameUse, mode: "restart" | "end"): Promise<void> {
      const key = keyOf(slot, use);
      await inTurn(key, async () => {
        const connection = find(key) ?? (await openNow(slot, use));
        await connection.process?.end(mode);
        if (mode === "restart") return;
        live.delete(key);
        await connection.clear();
      });
    },

    /** Runs `work` when no other work on that name is under way. */
    async alone<T>(name: string, of: Principal | undefined, work: () => Promise<T>): Promise<T> {
      return await inTurn(JSON.stringify(["name", name, ...ownerParts(of)]), work);
    },

    /** Opens a connection without a kept session, and makes the session. @throws if that failed */
    async create(slot: NamedSlot, use: NameUse): Promise<void> {
      const key = keyOf(slot, use);
      await inTurn(key, async () => {
        const unused = find(key);
        await unused?.clear();
        unused?.fill(await connectTo(slot, use));
        await (unused ?? (await openNow(slot, use))).client();
      });
    },

    /** Ends a session on its server. After a restart, the runs that used it continue in another. */
    async end(slot: NamedSlot, use: NamedEnd): Promise<EndedSession> {
      return await whileClosed(slot, use, async () => await slots.end(slot, use));
    },

    /** Forgets the kept tool list of a session. */
    async clearTools(slot: NamedSlot, use: Omit<NamedEnd, "mode">): Promise<void> {
      const clear = async () => await slots.clearTools(slot, use.principal);
      await whileClosed(slot, { ...use, mode: "restart" }, clear);
    },
  };
}

/** Runs the work of one key one after another. */
function createTurns() {
  const turns = new Map<string, Promise<unknown>>();
  return async <T>(key: string, work: () => Promise<T>): Promise<T> => {
    const before = turns.get(key);
    const own = (async () => {
      await before;
      return await work();
    })();
    const turn = own.catch(() => undefined);
    turns.set(key, turn);
    return await own;
  };
}

function keyOf(slot: SlotName, { principal }: Pick<NameUse, "principal">): string {
  return JSON.stringify([slotParts(slot), ...ownerParts(principal)]);
}

function ownerParts(principal: Principal | undefined): readonly unknown[] {
  return principal === undefined ? [] : principalParts(principal);
}
