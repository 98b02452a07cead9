import type { Principal } from "@durable-mcp/core";
import { checkOptions } from "../base/check-options.ts";
import { clientConnections, type Connections, hasSlot } from "../declare/mcp-connection.ts";
import { createStepEvents } from "../events/step-events.ts";
import { isStreamed } from "../run/read-to-end.ts";
import type { ConnectionRun } from "../run/connection-run.ts";
import type { ToolFace } from "../run/tool-face.ts";
import { runInternalsOf } from "../run/run-internals.ts";
import { createRunOnSlots } from "./open-session.ts";
import { createOpenedSlots, type OpenedSlots } from "../sessions/opened-slots.ts";
import { ownSlot } from "../records/step-slot.ts";
import { readStoredSlot, type StoredSlot } from "../sessions/stored-slot.ts";
import { refusePausing } from "../waiting/waiting-source.ts";
import { startAutoSession } from "../run/auto-session.ts";
import type { AutoSessionOptions } from "../run/run-options.ts";
import { leaveBefore, type StepContext } from "../sessions/sessions-context.ts";
import { createStateContext } from "../sessions/state-context.ts";
import { ofState, type StateStore } from "../records/state-store.ts";
import { carriedWaitingOf, managementOf } from "../management/uses-outside-step.ts";
import type {
  ConnectionProvider,
  ConnectionProviderOptions,
  StateRunResult,
} from "../sessions/connection-provider.ts";
import {
  createSchema,
  providerSchema,
  runOnStateSchema,
  shutdownSchema,
} from "../sessions/option-schemas.ts";
import { selectionSchema } from "../sessions/outside-schemas.ts";
import {
  allInternals,
  createInternals,
  type ProviderInternals,
} from "../sessions/provider-internals.ts";

/**
 * Creates the provider of an application's connections. Call it once, at start.
 *
 * @param face what a framework's package makes of the runs
 * @throws {McpSessionError} `CONNECTION_INVALID`, naming the connection and the field
 */
export function createConnectionProvider<
  CONNECTIONS extends Connections,
  RUN extends ConnectionRun<any> = ConnectionRun<CONNECTIONS>,
>(
  options: ConnectionProviderOptions<CONNECTIONS>,
  face?: ToolFace,
): ConnectionProvider<CONNECTIONS, RUN> {
  const { autoSession, connections, claim } = checkOptions(providerSchema, options);
  const internals = createInternals(options, face);
  if (claim === undefined && typeof connections !== "function") refusePausing(connections);
  if (autoSession) startUnkeptSession(internals, autoSession);

  const provider: ConnectionProvider<CONNECTIONS, any> = {
    ...createStateRuns(internals),
    ...carriedWaitingOf(internals),
    ...createCarriedManagement(internals),
    async shutdown(shutdown = {}) {
      const { timeoutMs = 10_000 } = checkOptions(shutdownSchema, shutdown);
      await internals.shutDown(timeoutMs);
    },
  };
  allInternals.set(provider, internals);
  return provider;
}

/** The uses of sessions in a state outside of a step. They mutate nothing. */
function createCarriedManagement(
  internals: ProviderInternals<any>,
): Pick<ConnectionProvider<any>, "list" | "status" | "end" | "restart" | "clearTools"> {
  const { sessionId } = ofState;
  const manage = ({ state }: { readonly state?: unknown }) => {
    const context = createStateContext(internals, state);
    return { carried: context.carried, ...managementOf(context) };
  };
  return {
    async list(session, selection) {
      const selected = checkOptions(selectionSchema, selection);
      const { sessions } = await manage(session).list({ ...selected, sessionId });
      return sessions.map(({ lastUsedAt, ...described }) => ({
        ...described,
        ...(described.name !== undefined && { lastUsedAt }),
      }));
    },
    status: async (session, selection) => await manage(session).status(sessionId, selection),
    async end(session, selection) {
      const { end, carried } = manage(session);
      const results = await end(sessionId, selection);
      return { session: carried.commit(session), results };
    },
    async restart(session, selection) {
      const { restart, carried } = manage(session);
      const results = await restart(sessionId, selection);
      return { session: carried.commit(session), results };
    },
    async clearTools(session, selection) {
      const { clearTools, carried } = manage(session);
      await clearTools(sessionId, selection);
      return carried.commit(session);
    },
  };
}

/** Runs on an agent session's state, and their changes to it. */
function createStateRuns<CONNECTIONS extends Connections>(
  internals: ProviderInternals<CONNECTIONS>,
): Pick<ConnectionProvider<CONNECTIONS>, "create" | "commit" | "run"> {
  const { declaredFor, poolFor } = internals;
  const namespace = internals.createNamespace();
  const savedBy = new WeakMap<object, { store: StateStore; opened: OpenedSlots }>();

  const runs: ReturnType<typeof createStateRuns<CONNECTIONS>> = {
    create(creation) {
      const { state, principal, sessionId, abortSignal, endsAt } = checkOptions(
        createSchema,
        creation,
      );
      const declared = declaredFor(principal);
      const pool = sessionId === undefined ? undefined : poolFor([namespace, sessionId]);
      const events = createStepEvents(internals.emit, sessionId);
      const own = createStateContext(internals, state, namespace);
      const { carried: store } = own;
      const leaveAt = leaveBefore(endsAt, internals.now());
      const context: StepContext = { ...own, ...ofState, abortSignal, leaveAt, emit: events.emit };
      const slots = new Map<string, StoredSlot>();
      for (const [connection, definition] of Object.entries(clientConnections(declared))) {
        if (!hasSlot(definition)) continue;
        // The key of a slot needs a principal.
        const use = { principal: principal as Principal, definition };
        slots.set(connection, readStoredSlot(context, ownSlot(connection, definition), use, store));
      }
      const opened = createOpenedSlots(context, slots.values());
      const slotFor = (connection: string) => slots.get(connection)!;
      const options = { declared, principal, events, pool, slotFor };
      const run = createRunOnSlots(context, opened, options);
      savedBy.set(run, { store, opened });
      return run;
    },

    commit(run, session) {
      const saved = savedBy.get(run);
      if (saved === undefined) {
        throw new TypeError("commit: the run was not made by this provider's create()");
      }
      return saved.store.commit(session, saved.opened.unsaved());
    },

    async run(options, step) {
      const { session, onSession, onUnavailable, ...use } = checkOptions(runOnStateSchema, options);
      const run = runs.create({ ...use, state: session.state });
      const saving = Promise.withResolvers<typeof session>();
      // The run rejects with the same error, or an event tells of it.
      saving.promise.catch(() => undefined);
      const save = async () => {
        try {
          const changed = runs.commit(run, session);
          if (changed !== session) await onSession?.(changed);
          saving.resolve(changed);
        } catch (error) {
          saving.reject(error);
          throw error;
        }
      };
      const result = await run.enter(
        async () => {
          await runInternalsOf(run)(({ begin }) => begin(onUnavailable));
          return await step(run);
        },
        { onClose: save },
      );
      const saved = isStreamed(result) ? saving.promise : await saving.promise;
      return { result, session: saved } as StateRunResult<any, any>;
    },
  };
  return runs;
}

/** The implicit run of a script, with sessions that end with it. */
function startUnkeptSession(
  { declaredFor, createUnkept, emit, face, work }: ProviderInternals<any>,
  options: AutoSessionOptions,
): void {
  const { principal } = options;
  startAutoSession(options, {
    declared: () => declaredFor(principal),
    open: (successor) => createUnkept(principal, successor),
    ...{ emit, face, tracks: [work.track] },
  });
}
