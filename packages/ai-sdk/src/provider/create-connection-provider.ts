import { within } from "@durable-mcp/core/internal";
import type { Principal } from "@durable-mcp/core";
import { createOpenWork, type OpenWork } from "../base/open-work.ts";
import type { McpConnection } from "../connection/mcp-connection.ts";
import { createTeller } from "../events/tell-observers.ts";
import { type ConnectionPool, createConnectionPool } from "../pool/connection-pool.ts";
import { createSessionPool } from "../pool/session-pool.ts";
import { startAutoSession } from "../registry/auto-session.ts";
import type { ConnectionRegistry } from "../registry/connection-registry.ts";
import { createStepRegistry } from "../registry/step-registry.ts";
import { noNamedSlots } from "../slots/named-slots.ts";
import { endConnections } from "../state/end-connections.ts";
import { checkConnections } from "./check-connections.ts";
import type { ConnectionProvider, ConnectionProviderOptions } from "./connection-provider.ts";
import { type ProviderInternals, registerInternals } from "./provider-internals.ts";
import { runOnState } from "./run-on-state.ts";
import { createStateRegistries } from "./state-registries.ts";

type Connections = Record<string, McpConnection>;

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
  if (typeof options.connections !== "function") checkConnections(options.connections);
  const work = createOpenWork("The connection provider was");
  const { internals, pool } = connectInternals(options, work);
  const auto = startImplicitSession(options, internals);
  const { create, commit } = createStateRegistries(internals);

  const provider: ConnectionProvider<CONNECTIONS> = {
    run: (runOptions, step) => runOnState({ create, commit }, runOptions, step),
    create,
    commit,
    end: (session, selection) => endConnections(internals, session, selection),
    async shutdown({ timeoutMs = 10_000 } = {}) {
      auto?.release();
      const closings = work.shutDown();
      const closeAll = async () => {
        // Idle clients close at once, even if something else hangs. The runs close their own clients.
        await Promise.allSettled([closings, pool?.closeAll()]);
        await pool?.closeAll();
      };
      await within(timeoutMs, closeAll());
    },
  };
  registerInternals(provider, internals);
  return provider;
}

/** The common parts of a provider, and its pool. */
function connectInternals<CONNECTIONS extends Connections>(
  {
    connections,
    pool: poolOptions,
    onEvent,
    telemetry,
    now = Date.now,
  }: ConnectionProviderOptions<CONNECTIONS>,
  { track, throwIfShutDown }: OpenWork,
): { internals: ProviderInternals<CONNECTIONS>; pool: ConnectionPool | undefined } {
  const emit = createTeller(telemetry, onEvent);
  const pool = poolOptions && createConnectionPool({ options: poolOptions, emit, now });
  const declaredFor = (principal: Principal | undefined): CONNECTIONS => {
    const declared = typeof connections === "function" ? connections(principal) : connections;
    checkConnections(declared);
    return declared;
  };
  const factory = { declaredFor, emit, telemetry, now, track };
  let namespaces = 0;
  const internals: ProviderInternals<CONNECTIONS> = {
    declaredFor,
    createRegistry(options) {
      throwIfShutDown();
      return createStepRegistry(factory, options) as ConnectionRegistry<any>;
    },
    poolFor: (scope) => pool && createSessionPool({ pool, scope, emit, now }),
    createNamespace: () => (namespaces += 1),
    track,
    emit,
    emitTo: (observe) => createTeller(telemetry, observe),
    now,
  };
  return { internals, pool };
}

/** The one registry of a script that opens no run. */
function startImplicitSession<CONNECTIONS extends Connections>(
  { autoSession }: ConnectionProviderOptions<CONNECTIONS>,
  { createRegistry, declaredFor, track }: ProviderInternals<CONNECTIONS>,
) {
  if (autoSession === undefined) return undefined;
  return startAutoSession({
    options: autoSession,
    open: (principal) =>
      createRegistry({
        declared: declaredFor(principal),
        principal,
        abortSignal: undefined,
        named: noNamedSlots,
        isLeased: true,
      }) as ConnectionRegistry<any>,
    track,
  });
}
