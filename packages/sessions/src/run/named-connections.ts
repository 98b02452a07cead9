import { McpSessionError, type Principal, principalParts } from "@durable-mcp/core";
import type { EndedSession } from "../records/session-reports.ts";
import {
  describeProcess,
  type ListedSession,
  type NamedSlots,
  type NamedStart,
} from "../records/named-slots.ts";
import { type NamedSlot, type SlotName, slotParts, type StepSlot } from "../records/step-slot.ts";
import { closeConnection, type LiveConnection } from "../connection/live-connection.ts";
import type { McpConnection } from "../declare/mcp-connection.ts";
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

export function createNamedConnections(options: NamedConnectionsOptions) {
  const { slots, connect, lifetime } = options;
  const live = new Map<string, { slot: SlotName; connection: EndableConnection }>();
  const inTurn = createTurns();

  const openNow = async (slot: SlotName, use: NameUse): Promise<EndableConnection> => {
    const { definition, principal } = use;
    const stepSlot =
      definition.type === "mcp-stdio"
        ? undefined
        : await slots.open(slot, { ...use, definition, principal: principal! });
    lifetime.throwIfOver();
    const connection = endable(connect(slot, use, stepSlot), slot);
    lifetime.adopt(connection);
    live.set(keyOf(slot, use), { slot, connection });
    return connection;
  };
  const find = (key: string) => live.get(key)?.connection;

  return {
    /** Lets runs inside find the step's own connection on a shared session. */
    share(slot: SlotName, principal: Principal, connection: LiveConnection) {
      live.set(keyOf(slot, { principal }), { slot, connection });
    },

    /** @throws {McpSessionError} `STORE_FAILED` */
    async open(slot: SlotName, use: NameUse): Promise<LiveConnection> {
      const key = keyOf(slot, use);
      return await inTurn(key, async () => find(key) ?? (await openNow(slot, use)));
    },

    /** What this step has under a name now. */
    kindOf: (slot: NamedSlot, principal: Principal) =>
      find(keyOf(slot, { principal }))?.manage.inspect().kind,

    /** The processes under names that this step, or a run around it, has, or that wait in the pool. */
    processes(principal: Principal | undefined): ListedSession[] {
      const pooled = options.pooledProcesses(principal);
      const own = [...live].flatMap(([key, { slot, connection }]) =>
        key === keyOf(slot, { principal }) ? describeProcess(slot, connection, options.now()) : [],
      );
      return [...pooled, ...own.filter((each) => !pooled.some((other) => isSame(each, other)))];
    },

    /** Runs `work` when no other work on that name is under way. */
    async alone<T>(name: string, of: Principal | undefined, work: () => Promise<T>): Promise<T> {
      return await inTurn(JSON.stringify(["name", name, ...ownerParts(of)]), work);
    },

    /** Opens a connection without a kept session, and makes the session. @throws if that failed */
    async create(slot: NamedSlot, use: NameUse): Promise<void> {
      const key = keyOf(slot, use);
      await inTurn(key, async () => {
        await find(key)?.end?.();
        await (await openNow(slot, use)).client();
      });
    },

    /** Ends a session on its server, or a process. The runs that used it cannot go on. */
    async end(
      slot: NamedSlot,
      principal: Principal | undefined,
      definition: McpConnection | undefined,
    ): Promise<EndedSession> {
      const key = keyOf(slot, { principal });
      return await inTurn(key, async () => {
        if (definition?.type !== "mcp-stdio") {
          await find(key)?.end?.();
          live.delete(key);
          return await slots.end(slot, { principal: principal!, definition, mode: "end" });
        }
        const connection = find(key) ?? (await openNow(slot, { principal, definition }));
        live.delete(key);
        await connection.process?.end("end");
        await connection.end?.();
        return { connection: slot.connection, name: slot.name, ended: true };
      });
    },
  };
}

/** The step's own connection on a shared session is not ended by name. */
type EndableConnection = LiveConnection & { readonly end?: () => Promise<void> };

/** A connection that can be ended while runs and tools hold it. Every use fails from then on. */
function endable(first: LiveConnection, slot: SlotName): EndableConnection {
  const { name, origin } = first;
  let isEnded = false;
  const throwIfEnded = () => {
    if (!isEnded) return;
    const why = `its session ${JSON.stringify(slot.name ?? slot.shared)} is being ended, or has ended.`;
    throw new McpSessionError("CONNECTION_UNAVAILABLE", `Connection ${name}: ${why}`, {
      data: { connection: name, origin },
    });
  };
  /** The connection, for a use. */
  const own = (): LiveConnection => {
    throwIfEnded();
    return first;
  };
  const connection: LiveConnection = {
    ...first,
    client: async () => await own().client(),
    frameworkClient: async () => await own().frameworkClient(),
    probe: async (signal) => await own().probe(signal),
    ask: async (signal) => await own().ask(signal),
    createFetch() {
      const fetch = own().createFetch();
      return async (input, init) => {
        throwIfEnded();
        return await fetch(input, init);
      };
    },
    get openings() {
      return isEnded ? new Set<never>() : first.openings;
    },
    settle: async () => (isEnded ? undefined : await first.settle()),
    endLooseSessions: async () => (isEnded ? undefined : await first.endLooseSessions()),
  };
  return Object.assign(connection, {
    async end() {
      isEnded = true;
      await closeConnection(first);
      first.noteClosed("stale");
    },
  });
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

function isSame(a: NamedSlot, b: NamedSlot): boolean {
  return a.connection === b.connection && a.name === b.name;
}

function keyOf(slot: SlotName, { principal }: Pick<NameUse, "principal">): string {
  return JSON.stringify([slotParts(slot), ...ownerParts(principal)]);
}

function ownerParts(principal: Principal | undefined): readonly unknown[] {
  return principal === undefined ? [] : principalParts(principal);
}
