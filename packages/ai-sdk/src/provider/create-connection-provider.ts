import { within } from "@durable-mcp/core/internal";
import { checkOptions } from "../base/check-options.ts";
import type { Connections } from "../connection/mcp-connection.ts";
import { refusePausing } from "../waiting/waiting-source.ts";
import { type AutoSessionOptions, startAutoSession } from "../registry/auto-session.ts";
import { endConnections } from "../state/end-connections.ts";
import {
  checkCarried,
  clearCarriedTools,
  describeCarried,
  restartCarried,
} from "../state/manage-connections.ts";
import { createCarriedWaiting } from "./create-carried-waiting.ts";
import type { ConnectionProvider, ConnectionProviderOptions } from "./connection-provider.ts";
import {
  providerSchema,
  selectionInTimeSchema,
  selectionSchema,
  shutdownSchema,
} from "./option-schemas.ts";
import { allInternals, createInternals, type ProviderInternals } from "./provider-internals.ts";
import { createStateRegistries } from "./state-registries.ts";

/**
 * Creates the provider of an application's connections. Call it once, at start.
 *
 * @example
 * const { result, session } = await provider.run({ session: loaded, principal }, ({ tools }) =>
 *   generateText({ model, tools, prompt, stopWhen: stepCountIs(10) }));
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

  const provider: ConnectionProvider<CONNECTIONS> = {
    ...createStateRegistries(internals),
    ...createCarriedWaiting(internals),
    end: async (session, selection) =>
      await endConnections(internals, session, checkOptions(selectionInTimeSchema, selection)),
    info: async (session, selection) =>
      describeCarried(internals, session, checkOptions(selectionSchema, selection)),
    status: async (session, selection) =>
      await checkCarried(internals, session, checkOptions(selectionInTimeSchema, selection)),
    restart: async (session, selection) =>
      await restartCarried(internals, session, checkOptions(selectionInTimeSchema, selection)),
    clearTools: async (session, selection) =>
      clearCarriedTools(internals, session, checkOptions(selectionSchema, selection)),
    async shutdown(shutdown = {}) {
      const { timeoutMs = 10_000 } = checkOptions(shutdownSchema, shutdown);
      const closings = work.shutDown();
      const closeAll = async () => {
        // Idle clients close at once, even if something else hangs. The runs close their own clients.
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
    async open(successor) {
      const registry = createUnkept(principal, successor);
      return { registry, close: () => registry.dispose() };
    },
    emit,
    tracks: [work.track],
  });
}
