import type { Principal } from "@durable-mcp/core";
import { checkOptions } from "../base/check-options.ts";
import { clientConnections, type Connections, hasSlot } from "../connection/mcp-connection.ts";
import { runInternalsOf } from "../run/use-connections.ts";
import { createNamedInStore } from "./named-in-store.ts";
import { createOpenedSlots, type OpenedSlots } from "./opened-slots.ts";
import { createStateContext, type StepContext } from "./sessions-context.ts";
import { readStoredSlot, type StoredSlot } from "./stored-slot.ts";
import { createStepEvents } from "../events/step-events.ts";
import { ownSlot } from "../slots/step-slot.ts";
import { ofState, type StateStore, waitingSource } from "./state-store.ts";
import { isStreamed } from "../run/read-to-end.ts";
import type { ConnectionProvider, StateRunResult } from "./connection-provider.ts";
import { createSchema, runOnStateSchema } from "./provider-option-schemas.ts";
import type { ProviderInternals } from "./provider-internals.ts";

/** Registries on an agent session's state, and their changes to it. */
export function createStateRegistries<CONNECTIONS extends Connections>(
  internals: ProviderInternals<CONNECTIONS>,
): Pick<ConnectionProvider<CONNECTIONS>, "create" | "commit" | "run"> {
  const { declaredFor, createRegistry, poolFor, closeTimeoutMs, claim } = internals;
  const namespace = internals.createNamespace();
  const savedBy = new WeakMap<object, { store: StateStore; opened: OpenedSlots }>();

  const registries: ReturnType<typeof createStateRegistries<CONNECTIONS>> = {
    create(options) {
      const { state, principal, sessionId, abortSignal } = checkOptions(createSchema, options);
      const declared = declaredFor(principal);
      const pool = sessionId === undefined ? undefined : poolFor([namespace, sessionId]);
      const events = createStepEvents(internals.emit, sessionId);
      const { emit } = events;
      const own = createStateContext(internals, state, namespace);
      const { carried: store } = own;
      const context: StepContext = { ...own, ...ofState, abortSignal, emit };
      const slots = new Map<string, StoredSlot>();
      for (const [connection, definition] of Object.entries(clientConnections(declared))) {
        if (!hasSlot(definition)) continue;
        // The key of a slot needs a principal.
        const use = { principal: principal as Principal, definition };
        slots.set(connection, readStoredSlot(context, ownSlot(connection, definition), use, store));
      }
      const opened = createOpenedSlots(context, slots.values());
      const registry = createRegistry({
        // Without a claim two processes could send one answer.
        waiting: claim && waitingSource(store, { claimLeg: claim, closeTimeoutMs }),
        ...{ declared, principal, events, abortSignal, pool },
        slotFor: (connection) => slots.get(connection)!,
        named: createNamedInStore(context, opened),
        save: (timeoutMs) => opened.close(timeoutMs),
      });
      savedBy.set(registry, { store, opened });
      return registry;
    },

    commit(registry, session) {
      const saved = savedBy.get(registry);
      if (saved === undefined) {
        throw new TypeError("commit: the registry was not made by this provider's create()");
      }
      return saved.store.commit(session, saved.opened.unsaved());
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
      const result = await registry.enter(
        async () => {
          await runInternalsOf(registry)(({ begin }) => begin(onUnavailable));
          return await step(registry);
        },
        { onClose: save },
      );
      const saved = isStreamed(result) ? saving.promise : await saving.promise;
      return { result, session: saved } as StateRunResult<any, any>;
    },
  };
  return registries;
}
