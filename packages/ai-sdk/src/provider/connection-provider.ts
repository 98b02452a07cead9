import { guarded } from "@durable-mcp/core/internal";
import { within } from "@durable-mcp/core/internal";
import { McpSessionError, type Principal, sessionKey } from "@durable-mcp/core";
import type { ConnectionRegistry } from "../registry/connection-registry.ts";
import type { ConnectionEvent } from "../events/connection-event.ts";
import type { ConnectionTelemetry } from "../events/connection-telemetry.ts";
import { type ConnectionPoolOptions, createConnectionPool } from "../pool/connection-pool.ts";
import { createSessionPool } from "../pool/session-pool.ts";
import { type AutoSessionOptions, startAutoSession } from "../registry/auto-session.ts";
import { checkConnections } from "./check-connections.ts";
import { type McpConnection, notDeclared } from "../connection/mcp-connection.ts";
import { tellTelemetry } from "../events/operation-tracer.ts";
import { type ProviderInternals, registerInternals } from "./provider-internals.ts";
import { noNamedSlots } from "../slots/named-slots.ts";
import { createStepRegistry } from "../registry/step-registry.ts";
import { createNamedInState, type NamedInState } from "../state/named-in-state.ts";
import { checkSessionName } from "../slots/slot-name.ts";
import { commitSlots, seedSlot, type SeededSlot } from "../state/session-state.ts";
import { endConnections } from "../state/end-connections.ts";
import type { EndedSession } from "../slots/session-reports.ts";

type Connections = Record<string, McpConnection>;

export interface ConnectionProviderOptions<CONNECTIONS extends Connections> {
  /**
   * The declared servers by name, or a function of the principal that returns them. Names are
   * lower case: `^[a-z][a-z0-9]*([_-][a-z0-9]+)*$`.
   */
  connections: CONNECTIONS | ((principal: Principal | undefined) => CONNECTIONS);
  /**
   * Keeps live clients, and stdio servers, between the runs of one agent session and principal in
   * this process; never for another one. For processes that live long. @default none
   */
  pool?: ConnectionPoolOptions | undefined;
  /**
   * For scripts that open nothing by hand: outside of any run `currentConnections()`,
   * `connectionTools()` and `withConnections` then use one implicit registry of the process. Its
   * sessions are made on first use and ended when the process has nothing more to do, or was idle
   * for `idleTimeoutMs`; then they are made again on the next use. One provider of a process may
   * have it. @default none
   */
  autoSession?: AutoSessionOptions | undefined;
  /** Told what happens to connections and their sessions. */
  onEvent?: ((event: ConnectionEvent) => void) | undefined;
  /** Measures what connections do: `openTelemetry()`, for example. @default none */
  telemetry?: ConnectionTelemetry | undefined;
  /** The clock, in milliseconds since 1970-01-01 UTC. @default Date.now */
  now?: (() => number) | undefined;
}

/** Builds a step's registry from state, and writes what changed back into it. */
export interface ConnectionProvider<CONNECTIONS extends Connections = Connections> {
  /**
   * Seeds one slot per stateful connection. Sends nothing.
   *
   * @param options.state `session.state` of the agent session: data from outside, parsed strictly
   * @param options.principal on whose behalf; never taken from the state. Needed as soon as one
   *   connection is stateful
   * @param options.sessionId names the agent session to the provider's pool. Not pooled without it
   * @param options.abortSignal ends handshakes and listings of the step
   * @throws {McpSessionError} `PRINCIPAL_REQUIRED`, `CONNECTION_INVALID`
   */
  create(options: {
    state?: unknown;
    principal?: Principal | undefined;
    sessionId?: string | undefined;
    abortSignal?: AbortSignal | undefined;
  }): ConnectionRegistry<CONNECTIONS>;
  /**
   * The agent session with the registry's changed slots in its state. Works before and after
   * `dispose`, after success and after failure. Inputs are not mutated; the same object comes back
   * when nothing changed.
   */
  commit<SESSION extends { state?: unknown }>(
    registry: ConnectionRegistry<CONNECTIONS>,
    session: SESSION,
  ): SESSION;
  /**
   * Ends the MCP sessions that the agent session's state holds for one principal, on their servers,
   * with one DELETE each, all at once. The agent session comes back without them, and with those
   * that could not be ended, to be tried again. Inputs are not mutated; the same object comes back
   * when nothing changed.
   *
   * @param options.principal whose sessions; those of others are not touched
   * @param options.connection the one connection to end the sessions of. @default all
   * @param options.name the one named session to end. @default all, and those without a name
   * @param options.timeoutMs how long to wait for each, the token included, in milliseconds.
   *   @default 5000
   * @returns with `results`, one for each session that was to be ended on a server
   * @throws {McpSessionError} `PRINCIPAL_REQUIRED`, `CONNECTION_INVALID`; nothing that a server
   *   does is thrown
   */
  end<SESSION extends { state?: unknown }>(
    session: SESSION,
    options: {
      principal: Principal;
      connection?: (keyof CONNECTIONS & string) | undefined;
      name?: string | undefined;
      timeoutMs?: number | undefined;
    },
  ): Promise<{ session: SESSION; results: EndedSession[] }>;
  /**
   * For the end of the process, such as on SIGTERM: closes all that is open (registries, runs,
   * leases) and writes what changed: durable sessions are saved, `onClose` of each run is called.
   * What still runs fails at its next use of a connection, and no registry can be created any more.
   * Never rejects; a run whose `onClose` fails rejects itself.
   *
   * @param options.timeoutMs how long to wait for all of it, in milliseconds. @default 10000
   */
  shutdown(options?: { timeoutMs?: number | undefined }): Promise<void>;
}

/**
 * Creates the provider of an application's connections. Call it once, at start.
 *
 * @example
 * const registry = provider.create({ state: session.state, principal });
 * try {
 *   const agent = new ToolLoopAgent({ model, tools: await registry.tools() });
 *   await agent.generate({ prompt });
 * } finally {
 *   await registry.dispose();
 *   session = provider.commit(registry, session);
 * }
 *
 * @throws {McpSessionError} `CONNECTION_INVALID`, naming the connection and the field
 */
export function createConnectionProvider<CONNECTIONS extends Connections>({
  connections,
  pool: poolOptions,
  autoSession,
  onEvent,
  telemetry,
  now = Date.now,
}: ConnectionProviderOptions<CONNECTIONS>): ConnectionProvider<CONNECTIONS> {
  if (typeof connections !== "function") checkConnections(connections);
  const savedBy = new WeakMap<object, { slots: Map<string, SeededSlot>; named: NamedInState }>();
  const observe = guarded(onEvent);
  const emit = (event: ConnectionEvent) => {
    tellTelemetry(telemetry, event);
    observe(event);
  };
  const declaredFor = (principal: Principal | undefined): CONNECTIONS => {
    const declared = typeof connections === "function" ? connections(principal) : connections;
    checkConnections(declared);
    return declared;
  };

  const pool = poolOptions && createConnectionPool({ options: poolOptions, emit, now });
  const poolFor = (scope: readonly unknown[]) =>
    pool && createSessionPool({ pool, scope, emit, now });
  let namespaces = 0;
  const createNamespace = () => (namespaces += 1);
  const ownNamespace = createNamespace();
  const open = new Set<() => Promise<void>>();
  let isShutDown = false;
  const track = (close: () => Promise<void>) => {
    // An entry of its own, whatever else is closed by the same function.
    const entry = () => close();
    open.add(entry);
    return () => void open.delete(entry);
  };

  const createRegistry: ProviderInternals<CONNECTIONS>["createRegistry"] = (options) => {
    if (isShutDown) {
      throw new McpSessionError(
        "CONNECTION_UNAVAILABLE",
        "The connection provider was shut down. Take no new work in a process that is about to end.",
      );
    }
    return createStepRegistry(
      { declaredFor, emit, telemetry, now, track },
      options,
    ) as ConnectionRegistry<any>;
  };

  const auto =
    autoSession &&
    startAutoSession({
      options: autoSession,
      open: (principal) =>
        createRegistry({
          declared: declaredFor(principal),
          principal,
          abortSignal: undefined,
          named: noNamedSlots,
          isLeased: true,
        }),
      track,
    });

  const provider: ConnectionProvider<CONNECTIONS> = {
    create({ state, principal, sessionId, abortSignal }) {
      const declared = declaredFor(principal);
      const sessionPool = sessionId === undefined ? undefined : poolFor([ownNamespace, sessionId]);
      const slots = new Map<string, SeededSlot>();
      const seed = (connection: string, user: Principal) => {
        const key = sessionKey({ connection, principal: user });
        const definition = declared[connection]!;
        const seeded = seedSlot(
          state,
          key,
          sessionPool &&
            ((snapshot) => sessionPool.createSlot({ connection }, user, definition, snapshot)),
        );
        if (seeded.isDiscarded) emit({ type: "discarded", connection, reason: "invalid" });
        slots.set(key, seeded);
        return { slot: seeded.slot };
      };
      const named = createNamedInState({ state, pool: sessionPool, emit, now });
      const registry = createRegistry({
        declared,
        principal,
        abortSignal,
        slotFor: (connection) => seed(connection, principal as Principal),
        named,
        pool: sessionPool,
      });
      savedBy.set(registry, { slots, named });
      return registry;
    },

    commit(registry, session) {
      const saved = savedBy.get(registry);
      if (saved === undefined) {
        throw new TypeError("commit: the registry was not made by this provider's create()");
      }
      return commitSlots(session, saved.slots, saved.named.changes());
    },

    async end(session, { principal, connection, name: sessionName, timeoutMs }) {
      // Also when there is nothing to end: a forgotten principal is a mistake in the program.
      sessionKey({ connection: "any", principal });
      const declared = Object.entries(declaredFor(principal));
      const named = declared.filter(([name]) => connection === undefined || name === connection);
      if (connection !== undefined && named.length === 0) {
        const names = declared.map(([name]) => name);
        throw notDeclared(connection, names, "connection");
      }
      const definitions = named.flatMap(([name, definition]) =>
        definition.type === "mcp-client" ? [[name, definition] as const] : [],
      );
      if (sessionName !== undefined) checkSessionName(sessionName, "name");
      return await endConnections({
        session,
        definitions,
        principal,
        name: sessionName,
        timeoutMs,
        emit,
        now,
      });
    },

    async shutdown({ timeoutMs = 10_000 } = {}) {
      isShutDown = true;
      auto?.release();
      const closings = [...open].toReversed().map((close) => close());
      const closeAll = async () => {
        // What is idle waits for nobody, whatever hangs; what the runs have is closed as they end.
        await Promise.allSettled([...closings, pool?.close()]);
        await pool?.close();
      };
      await within(timeoutMs, closeAll());
    },
  };
  registerInternals(provider, { declaredFor, createRegistry, track, poolFor, createNamespace });
  return provider;
}
