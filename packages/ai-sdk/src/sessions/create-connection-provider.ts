import { within } from "@durable-mcp/core/internal";
import { checkOptions } from "../base/check-options.ts";
import type { Connections } from "../connection/mcp-connection.ts";
import { refusePausing } from "../waiting/waiting-source.ts";
import { startAutoSession } from "../run/auto-session.ts";
import type { AutoSessionOptions } from "../run/run-options.ts";
import { checkSelected, clearSelectedTools, endSelected, findSelected } from "./manage-sessions.ts";
import { createStateContext } from "./sessions-context.ts";
import { describeRecord } from "./slot-record.ts";
import type { SessionSelection } from "../slots/session-reports.ts";
import { ofState } from "./state-store.ts";
import { createCarriedWaiting } from "./create-carried-waiting.ts";
import type { ConnectionProvider, ConnectionProviderOptions } from "./connection-provider.ts";
import {
  providerSchema,
  selectionInTimeSchema,
  selectionSchema,
  shutdownSchema,
} from "./provider-option-schemas.ts";
import { allInternals, createInternals, type ProviderInternals } from "./provider-internals.ts";
import { createStateRegistries } from "./state-registries.ts";

/**
 * Creates the provider of an application's connections. Call it once, at start.
 *
 * @example
 * const { result, session } = await provider.run({ session: loaded, principal }, async (run) =>
 *   generateText({ model, tools: await run.tools(), prompt, stopWhen: stepCountIs(10) }));
 *
 * @throws {McpSessionError} `CONNECTION_INVALID`, naming the connection and the field
 */
export function createConnectionProvider<CONNECTIONS extends Connections>(
  options: ConnectionProviderOptions<CONNECTIONS>,
): ConnectionProvider<CONNECTIONS> {
  const { autoSession, connections, claim } = checkOptions(providerSchema, options);
  const internals = createInternals(options);
  if (claim === undefined && typeof connections !== "function") refusePausing(connections);
  const { pool, work } = internals;
  if (autoSession) startUnkeptSession(internals, autoSession);

  const onState = ({ state }: { readonly state?: unknown }) => createStateContext(internals, state);
  const all = { of: ofState.sessionId };
  const endOnState = async <SESSION extends { state?: unknown }>(
    session: SESSION,
    selection: SessionSelection,
    mode: "restart" | "end",
  ) => {
    const context = onState(session);
    const selected = { ...checkOptions(selectionInTimeSchema, selection), ...all };
    const results = await endSelected(context, selected, mode);
    return { session: context.carried.commit(session), results };
  };

  const provider: ConnectionProvider<CONNECTIONS> = {
    ...createStateRegistries(internals),
    ...createCarriedWaiting(internals),
    async list(session, selection) {
      const { principal, ...query } = checkOptions(selectionSchema, selection);
      const { records } = await findSelected(onState(session), { principal, ...query, ...all });
      return records.map((record) => {
        const { lastUsedAt, ...described } = describeRecord(record);
        return { ...described, ...(record.of.name !== undefined && { lastUsedAt }) };
      });
    },
    async status(session, selection) {
      const selected = { ...checkOptions(selectionInTimeSchema, selection), ...all };
      return await checkSelected(onState(session), selected);
    },
    end: async (session, selection) => await endOnState(session, selection, "end"),
    restart: async (session, selection) => await endOnState(session, selection, "restart"),
    async clearTools(session, selection) {
      const context = onState(session);
      const selected = { ...checkOptions(selectionSchema, selection), ...all };
      await clearSelectedTools(context, selected);
      return context.carried.commit(session);
    },
    async shutdown(shutdown = {}) {
      const { timeoutMs = 10_000 } = checkOptions(shutdownSchema, shutdown);
      const closings = work.shutDown();
      const closeAll = async () => {
        // Idle processes end at once, even if something else hangs. The runs give theirs back.
        await Promise.allSettled([closings, pool?.closeAll()]);
        await pool?.closeAll();
      };
      await within(timeoutMs, closeAll());
    },
  };
  allInternals.set(provider, internals);
  return provider;
}

/** The implicit registry of a script, with sessions that end with it. */
function startUnkeptSession(
  { declaredFor, createUnkept, emit, work }: ProviderInternals<any>,
  options: AutoSessionOptions,
): void {
  const { principal } = options;
  startAutoSession(options, {
    declared: () => declaredFor(principal),
    open(successor) {
      const run = createUnkept(principal, successor);
      return { run, close: () => run.dispose() };
    },
    emit,
    tracks: [work.track],
  });
}
