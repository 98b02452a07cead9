import { type Principal, principalParts } from "@durable-mcp/core";
import type { ConnectionEvent } from "../events/connection-event.ts";
import type { McpClientConnection } from "../connection/define-connection.ts";
import type { EndedSession } from "../slots/session-reports.ts";
import type { NamedEnd, NamedSlots, NamedStart, NamedUse } from "../slots/named-slots.ts";
import type { StepSlot } from "../slots/step-slot.ts";
import type { LiveConnection } from "../connection/live-connection.ts";
import {
  createReplaceableConnection,
  type ReplaceableConnection,
} from "../connection/replaceable-connection.ts";
import { type NamedSlot, slotName } from "../slots/slot-name.ts";
import type { RegistryLifetime } from "./registry-lifetime.ts";

/** A use of what may belong to a connection that there is no more. */
type MaybeUndeclared = Pick<NamedUse, "principal"> & {
  readonly definition: McpClientConnection | undefined;
};

/** The live connections of named sessions: one each for all runs of a step. */
export interface NamedConnections {
  /** @throws {McpSessionError} `STORE_FAILED` */
  open(slot: NamedSlot, use: NamedUse): Promise<LiveConnection>;
  /** Runs `work` when no other one for that name is under way. */
  alone<T>(name: string, principal: Principal, work: () => Promise<T>): Promise<T>;
  /** Opens one that is not kept yet and makes its session. @throws why that failed */
  create(slot: NamedSlot, use: NamedUse, idleTimeoutMs: number | undefined): Promise<void>;
  /** Ends one on its server; runs that use it go on with another after a restart. */
  end(slot: NamedSlot, use: NamedEnd): Promise<EndedSession>;
  /** Forgets the kept tool list of one. */
  clearTools(slot: NamedSlot, use: MaybeUndeclared): Promise<void>;
}

/**
 * @param options.connect makes a connection for the rest of the step
 * @param options.lifetime that of the step, which closes it
 */
export function createNamedConnections({
  slots,
  connect,
  lifetime,
  release,
  emit,
}: {
  slots: NamedSlots;
  connect: (slot: NamedSlot, use: NamedUse, stepSlot: StepSlot) => LiveConnection;
  lifetime: RegistryLifetime;
  /** Told of a slot that will not be connected. */
  release: (stepSlot: StepSlot) => void;
  emit: (event: ConnectionEvent) => void;
}): NamedConnections {
  const live = new Map<string, ReplaceableConnection>();
  /** What is done with one at a time. */
  const turns = new Map<string, Promise<unknown>>();

  const inTurn = async <T>(key: string, work: () => Promise<T>): Promise<T> => {
    const before = turns.get(key);
    const own = (async () => {
      await before;
      return await work();
    })();
    const over = own.catch(() => undefined);
    turns.set(key, over);
    return await own;
  };
  const connectTo = async (slot: NamedSlot, use: NamedStart) => {
    const stepSlot = await slots.open(slot, use);
    try {
      lifetime.throwIfOver();
    } catch (error) {
      release(stepSlot);
      throw error;
    }
    return connect(slot, use, stepSlot);
  };

  const openNow = async (
    slot: NamedSlot,
    use: NamedUse & { idleTimeoutMs?: number | undefined },
  ): Promise<LiveConnection> => {
    const next = await connectTo(slot, use);
    const own = (event: ConnectionEvent) => emit({ ...event, name: slot.name });
    const why = `its session ${JSON.stringify(slot.name)} is being ended, or was closed.`;
    const connection = createReplaceableConnection({ first: next, why, emit: own });
    lifetime.adopt(connection);
    live.set(keyOf(slot, use), connection);
    return connection;
  };

  return {
    async open(slot, use) {
      const key = keyOf(slot, use);
      return await inTurn(key, async () => live.get(key) ?? (await openNow(slot, use)));
    },

    async alone(name, principal, work) {
      return await inTurn(JSON.stringify(["name", name, ...principalParts(principal)]), work);
    },

    async create(slot, use, idleTimeoutMs) {
      const key = keyOf(slot, use);
      await inTurn(key, async () => {
        const unused = live.get(key);
        await unused?.clear();
        const settings = { ...use, idleTimeoutMs };
        if (unused === undefined) {
          await (await openNow(slot, settings)).client();
        } else {
          unused.fill(await connectTo(slot, settings));
          await unused.client();
        }
      });
    },

    async end(slot, use) {
      const key = keyOf(slot, use);
      return await inTurn(key, async () => {
        const connection = live.get(key);
        await connection?.clear();
        const { principal, definition, mode } = use;
        if (mode === "end") live.delete(key);
        try {
          return await slots.end(slot, use);
        } finally {
          if (mode === "restart") await refill(connection, slot, { principal, definition });
        }
      });
    },

    async clearTools(slot, use) {
      const key = keyOf(slot, use);
      await inTurn(key, async () => {
        const connection = live.get(key);
        await connection?.clear();
        try {
          await slots.clearTools(slot, use.principal);
        } finally {
          await refill(connection, slot, use);
        }
      });
    },
  };

  async function refill(
    connection: ReplaceableConnection | undefined,
    slot: NamedSlot,
    { principal, definition }: MaybeUndeclared,
  ): Promise<void> {
    if (connection === undefined || definition === undefined) return;
    connection.fill(await connectTo(slot, { principal, definition }));
  }
}

function keyOf(slot: NamedSlot, { principal }: Pick<NamedUse, "principal">): string {
  return JSON.stringify([slotName(slot), ...principalParts(principal)]);
}
