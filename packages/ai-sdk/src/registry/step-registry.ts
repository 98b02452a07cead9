import { invalidOption } from "@durable-mcp/core/internal";
import { createSessionSlot, type Principal, principalParts } from "@durable-mcp/core";
import type { ConnectionEvent } from "../events/connection-event.ts";
import type { ConnectionTelemetry } from "../events/connection-telemetry.ts";
import type { ConnectionRegistry } from "./connection-registry.ts";
import { createConnectionRegistry, type OwnedRegistry } from "./create-connection-registry.ts";
import type { ConnectionContext } from "../connection/connection-options.ts";
import { isStateful, type McpClientConnection } from "../connection/define-connection.ts";
import { endMcpSession } from "../http/end-mcp-session.ts";
import { mayBeKept } from "../pool/may-be-kept.ts";
import { clientConnections, type McpConnection } from "../connection/mcp-connection.ts";
import { createNamedConnections } from "./named-connections.ts";
import { createNamedSessions } from "./named-sessions.ts";
import type { NamedSlots } from "../slots/named-slots.ts";
import { openConnection } from "../connection/open-connection.ts";
import type { StepSlot } from "../slots/step-slot.ts";
import { forwardConnection } from "../connection/forward-connection.ts";
import { type LiveConnection } from "../connection/live-connection.ts";
import { createHttpConnection } from "../http/http-connection.ts";
import type { ConnectionMode, NestOptions, RunScope } from "./run-scope.ts";
import type { SessionPool } from "../pool/session-pool.ts";
import { checkSessionName } from "../slots/slot-name.ts";
import { createStepTime, type StepTime } from "../connection/step-time.ts";

type Connections = Readonly<Record<string, McpConnection>>;

/**
 * How long the server of an isolated session has to end it, in milliseconds: less than closing a
 * connection takes at most, so that a server that hangs is reported once.
 */
const endTimeoutMs = 4_000;

/** What registries of one provider have in common. */
export interface RegistryFactory {
  /** @throws {McpSessionError} `CONNECTION_INVALID` */
  readonly declaredFor: (principal: Principal | undefined) => Connections;
  readonly emit: (event: ConnectionEvent) => void;
  readonly telemetry: ConnectionTelemetry | undefined;
  readonly now: () => number;
  /** Has something closed when the process is to end; returns how to forget it. */
  readonly track: (close: () => Promise<void>) => () => void;
}

export interface StepRegistryOptions {
  readonly declared: Connections;
  readonly principal: Principal | undefined;
  readonly abortSignal: AbortSignal | undefined;
  /** The slot of a stateful connection; `undefined` isolates all of them. */
  readonly slotFor?: ((connection: string) => StepSlot) | undefined;
  /** The named sessions, for any principal. */
  readonly named: NamedSlots;
  /** Whether somebody else disposes of the registry, and a run of it does not. @default false */
  readonly isLeased?: boolean | undefined;
  /** Keeps the clients for the next run of the agent session. The slots have to be of its making. */
  readonly pool?: SessionPool | undefined;
}

/** One connection of one step, or of a run inside it. */
interface Use {
  readonly connection: string;
  readonly definition: McpConnection;
  readonly principal: Principal | undefined;
  readonly step: StepTime;
}

/** Creates the registry of a step, with what the runs inside it need. */
export function createStepRegistry(
  { declaredFor, emit, telemetry, now, track }: RegistryFactory,
  { declared, principal, abortSignal, slotFor, named, isLeased = false, pool }: StepRegistryOptions,
): ConnectionRegistry {
  const step = createStepTime(abortSignal);

  const connect = (
    { connection, definition, principal: user, step: time }: Use,
    slot: StepSlot | undefined,
    name?: string,
  ): LiveConnection => {
    const own = name === undefined ? emit : (event: ConnectionEvent) => emit({ ...event, name });
    const { signal, isActive } = time;
    const context: ConnectionContext = { principal: user, connection, abortSignal: signal };
    return definition.type === "mcp-stdio"
      ? definition[openConnection]({ context, isActive, emit: own, telemetry })
      : createHttpConnection({
          definition,
          slot: slot?.slot,
          onSession: slot?.onSession,
          now,
          context,
          isActive,
          emit: own,
          telemetry,
        });
  };

  /** From the pool, if there is one. */
  const connectPooled = (use: Use, slot: StepSlot | undefined, name?: string): LiveConnection => {
    const { connection, principal: user, step: time } = use;
    if (pool === undefined || !mayBeKept(use.definition)) return connect(use, slot, name);
    return pool.connect({
      slot: { connection, ...(name !== undefined && { name }) },
      principal: user,
      definition: use.definition,
      session: slot?.slot,
      onSession: slot?.onSession,
      runSignal: time.signal,
      make: (kept, onSession) =>
        connect({ ...use, step: kept }, slot && { slot: slot.slot, onSession }, name),
    });
  };

  /** A session that is ended on its server when the connection is closed. */
  const isolate = (use: Use): LiveConnection => {
    const { connection, definition } = use;
    if (!hasSession(definition)) return connect(use, undefined);
    // A session is always somebody's, also one that nobody finds again.
    principalParts(use.principal);
    const slot = createSessionSlot();
    const isolated = connect(use, { slot });
    return forwardConnection(() => isolated, {
      async endLooseSessions() {
        await isolated.endLooseSessions();
        const { snapshot } = slot;
        if (snapshot?.kind !== "session") return;
        const outcome = await endMcpSession({
          definition,
          connection,
          principal: use.principal!,
          snapshot,
          timeoutMs: endTimeoutMs,
          now,
        });
        if (outcome.ended) return;
        const { ended: _, ...why } = outcome;
        emit({ type: "close-failed", connection, ...why });
      },
    });
  };

  /** Those of named sessions: one each for all runs of the step, and closed with it. */
  const live = createNamedConnections({
    slots: named,
    connect: ({ connection, name }, use, slot) =>
      connectPooled({ connection, step, ...use }, slot, name),
    adopt: (connection) => root.adopt(connection),
    throwIfDisposed: () => root.throwIfDisposed(),
    release: ({ slot }) => pool?.release(slot),
    emit,
  });
  const findNamed = async (
    { connection, definition, principal: user }: Omit<Use, "step">,
    name: string,
    all: Connections,
  ): Promise<LiveConnection> => {
    if (hasSession(definition)) {
      named.endIdle(user!, clientConnections(all));
      return await live.open({ connection, name }, { principal: user!, definition });
    }
    throw invalidOption(
      `connections.${connection}`,
      `is not stateful, so that nothing lasts under a name. Use "isolate" or "inherit".`,
    );
  };

  const createScope = (
    owned: () => OwnedRegistry,
    own: { declared: Connections; principal: Principal | undefined; step: StepTime },
    registry: ConnectionRegistry,
  ): RunScope => {
    const scope: RunScope = {
      registry,
      named: createNamedSessions({ ...own, slots: named, live, scope: () => scope }),
      nest: async (options) => await nest(owned(), own, options),
    };
    return scope;
  };

  const nest = async (
    around: OwnedRegistry,
    outer: { declared: Connections; principal: Principal | undefined; step: StepTime },
    { modes, principal: given, abortSignal: nestedSignal }: NestOptions,
  ): Promise<RunScope> => {
    const user = given ?? outer.principal;
    const isSame = samePrincipal(user, outer.principal);
    const own = {
      declared: isSame ? outer.declared : declaredFor(user),
      principal: user,
      step: createStepTime(outer.step.signal, nestedSignal),
    };
    checkModes(modes, own.declared);
    const throwIfOver = () => {
      nestedSignal?.throwIfAborted();
      around.throwIfDisposed();
      own.step.signal.throwIfAborted();
    };
    throwIfOver();
    const borrowed = new Set<LiveConnection>();
    const connecting = Object.entries(own.declared).map(async ([connection, definition]) => {
      const mode = (Object.hasOwn(modes, connection) && modes[connection]) || "inherit";
      if (mode === "isolate") return isolate({ connection, definition, ...own });
      if (mode === "inherit" && !isSame) {
        throw invalidOption(
          `connections.${connection}`,
          `cannot be inherited under another principal. Use "isolate" or { named }.`,
        );
      }
      const shared =
        mode === "inherit"
          ? around.connection(connection)!
          : await findNamed({ connection, definition, principal: user }, mode.named, own.declared);
      borrowed.add(shared);
      return shared;
    });
    const connections = await Promise.all(connecting);
    // Loading a named session may have taken a while.
    throwIfOver();
    const nested = createConnectionRegistry({
      connections,
      borrowed,
      useBorrowed: around.use,
      abortSignal: own.step.signal,
      isLeased: true,
      emit,
      endStep: own.step.end,
      scopeOf: (registry) => createScope(() => nested, own, registry),
      track: around.own,
    });
    return nested.scope;
  };

  const root = createConnectionRegistry({
    connections: Object.entries(declared).map(([connection, definition]) => {
      const use = { connection, definition, principal, step };
      if (!hasSession(definition)) return connectPooled(use, undefined);
      return slotFor ? connectPooled(use, slotFor(connection)) : isolate(use);
    }),
    abortSignal: step.signal,
    isLeased,
    emit,
    endStep: step.end,
    scopeOf: (registry) => createScope(() => root, { declared, principal, step }, registry),
    onFirstUse() {
      if (principal === undefined) return;
      named.endIdle(principal, clientConnections(declared));
      root.own(() => named.endStep());
    },
    // What a lease holds is closed with the lease.
    track: isLeased ? () => () => undefined : track,
  });
  // What was taken from the pool has to be given back, used or not.
  if (pool !== undefined) root.useAll();
  return root.registry;
}

function checkModes(
  modes: Readonly<Record<string, ConnectionMode | undefined>>,
  declared: Connections,
): void {
  for (const [connection, mode] of Object.entries(modes)) {
    const field = `connections.${connection}`;
    if (!Object.hasOwn(declared, connection)) {
      throw invalidOption(field, `is not declared. Declared: ${Object.keys(declared).join(", ")}.`);
    }
    if (mode === undefined || mode === "inherit" || mode === "isolate") continue;
    const name = (mode as { named?: unknown } | null)?.named;
    if (name === undefined)
      throw invalidOption(field, `must be "inherit", "isolate" or { named }.`);
    checkSessionName(name, `${field}.named`);
  }
}

function samePrincipal(a: Principal | undefined, b: Principal | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  return JSON.stringify(principalParts(a)) === JSON.stringify(principalParts(b));
}

function hasSession(definition: McpConnection): definition is McpClientConnection {
  return definition.type === "mcp-client" && isStateful(definition);
}
