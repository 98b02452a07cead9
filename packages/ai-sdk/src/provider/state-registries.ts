import { createSessionSlot, type Principal, sessionKey } from "@durable-mcp/core";
import { checkOptions } from "../base/check-options.ts";
import type { McpClientConnection } from "../connection/define-connection.ts";
import { clientConnections, type Connections, hasSlot } from "../connection/mcp-connection.ts";
import type { ConnectionEvent } from "../events/connection-event.ts";
import { createStepEvents } from "../events/step-events.ts";
import { createNamedInState, type NamedInState } from "../state/named-in-state.ts";
import { commitSlots, seedSlot, type SeededSlot, throwIfNewer } from "../state/session-state.ts";
import {
  createWaitingInState,
  type WaitingInState,
  waitingSource,
} from "../state/waiting-in-state.ts";
import { isStreamed } from "../streams/read-to-end.ts";
import type { ConnectionProvider, StateRunResult } from "./connection-provider.ts";
import { createSchema, runOnStateSchema } from "./option-schemas.ts";
import type { ProviderInternals } from "./provider-internals.ts";

/** What a registry may change in a state. */
interface Saved {
  readonly slots: Map<string, SeededSlot>;
  readonly named: NamedInState;
  readonly waiting: WaitingInState;
}

/** Registries on an agent session's state, and their changes to it. */
export function createStateRegistries<CONNECTIONS extends Connections>(
  internals: ProviderInternals<CONNECTIONS>,
): Pick<ConnectionProvider<CONNECTIONS>, "create" | "commit" | "run"> {
  const { declaredFor, createRegistry, poolFor, createNamespace, work, now, claim } = internals;
  const { closeTimeoutMs } = internals;
  const namespace = createNamespace();
  const savedBy = new WeakMap<object, Saved>();

  const registries: ReturnType<typeof createStateRegistries<CONNECTIONS>> = {
    create(options) {
      const { state, principal, sessionId, abortSignal } = checkOptions(createSchema, options);
      const declared = declaredFor(principal);
      if (principal !== undefined) refuseNewer(state, declared, principal);
      const pool = sessionId === undefined ? undefined : poolFor([namespace, sessionId]);
      const events = createStepEvents(internals.emit, sessionId);
      const { emit } = events;
      const seeding = createSeeding({ state, declared, principal, emit, now });
      const named = createNamedInState(state, emit, now, work.track);
      const waiting = createWaitingInState(state, now);
      const registry = createRegistry({
        // Without a claim two processes could send one answer.
        waiting: claim && waitingSource(waiting, { claimLeg: claim, closeTimeoutMs }),
        declared,
        principal,
        events,
        abortSignal,
        slotFor: (connection) => seeding.slotFor(connection),
        named,
        pool,
      });
      savedBy.set(registry, { slots: seeding.slots, named, waiting });
      return registry;
    },

    commit(registry, session) {
      const saved = savedBy.get(registry);
      if (saved === undefined) {
        throw new TypeError("commit: the registry was not made by this provider's create()");
      }
      return commitSlots(session, saved.slots, [
        ...saved.named.changes(),
        ...saved.waiting.changes(),
      ]);
    },

    async run(options, step) {
      const { session, onSession, onUnavailable, ...use } = checkOptions(runOnStateSchema, options);
      const registry = registries.create({ ...use, state: session.state });
      const saving = Promise.withResolvers<typeof session>();
      // The run rejects with the same error, or an event tells of it.
      saving.promise.catch(() => undefined);
      const save = async () => {
        try {
          const changed = registries.commit(registry, session);
          if (changed !== session) await onSession?.(changed);
          saving.resolve(changed);
        } catch (error) {
          saving.reject(error);
          throw error;
        }
      };
      const result = await registry.run(
        async () => {
          const tools = await registry.tools({ onUnavailable });
          return await step({ tools, registry, waiting: registry.waiting });
        },
        { onClose: save },
      );
      const saved = isStreamed(result) ? saving.promise : await saving.promise;
      return { result, session: saved } as StateRunResult<any, any>;
    },
  };
  return registries;
}

interface Seeding {
  readonly state: unknown;
  readonly declared: Connections;
  readonly principal: Principal | undefined;
  readonly emit: (event: ConnectionEvent) => void;
  readonly now: () => number;
}

/** Seeds the slots of a state, each when its connection is made. */
function createSeeding({ state, declared, principal, emit, now }: Seeding) {
  const slots = new Map<string, SeededSlot>();
  return {
    slots,
    slotFor(connection: string): SeededSlot {
      const user = principal as Principal;
      const key = sessionKey({ connection, principal: user });
      const definition = declared[connection] as McpClientConnection;
      const seeded = seedSlot(state, key, createSessionSlot, definition, now());
      if (seeded.isDiscarded) emit({ type: "discarded", connection, reason: "invalid" });
      slots.set(key, seeded);
      return seeded;
    },
  };
}

/** @throws {McpSessionError} `STATE_INVALID` for an entry of a connection that a later release wrote */
function refuseNewer(state: unknown, declared: Connections, principal: Principal): void {
  for (const [connection, definition] of Object.entries(clientConnections(declared))) {
    if (!hasSlot(definition)) continue;
    throwIfNewer(state, sessionKey({ connection, principal }), connection);
  }
}
