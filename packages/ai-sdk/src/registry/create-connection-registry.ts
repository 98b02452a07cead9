import { abortable, within } from "@durable-mcp/core/internal";
import { notDeclared } from "../connection/mcp-connection.ts";
import type { ToolSet } from "ai";
import { callTool } from "../tools/call-tool.ts";
import { type Closable, closeInTurn } from "./close-in-turn.ts";
import { closeConnection } from "../connection/close-connection.ts";
import { connectionUnavailable, withoutCause } from "../errors/connection-error.ts";
import type { ConnectionEvent } from "../events/connection-event.ts";
import type { ConnectionRegistry } from "./connection-registry.ts";
import { connectionTools } from "../tools/connection-tools.ts";
import type { LiveConnection } from "../connection/live-connection.ts";
import { registryDisposed } from "../errors/connection-error.ts";
import { registerRegistryInternals } from "./registry-internals.ts";
import { createOverlappingRuns } from "./overlapping-runs.ts";
import { enterScope, type RunScope } from "./run-scope.ts";
import { runToEndOfStream } from "../streams/run-to-end-of-stream.ts";
import { tracedClient } from "../tools/traced-client.ts";
import { waitUntilReady } from "./wait-until-ready.ts";

/** How long `dispose` waits for handshakes, and then for the clients to close, in milliseconds. */
const disposeTimeoutMs = 5_000;

/** A registry, and what the runs that belong to it need of it. */
export interface OwnedRegistry {
  readonly registry: ConnectionRegistry;
  readonly scope: RunScope;
  /** A connection as this registry uses it; `undefined` if none is declared by that name. */
  readonly connection: (name: string) => LiveConnection | undefined;
  /** Has a run inside closed with the registry, before its connections; returns how to forget it. */
  readonly own: (close: () => Promise<void>) => () => void;
  /** Notes that a connection is in use, here or in a run inside. */
  readonly use: (connection: LiveConnection) => void;
  /** Notes that all are to be closed, used or not. */
  readonly useAll: () => void;
  /** Makes the registry the owner of a connection that it does not itself offer. */
  readonly adopt: (connection: LiveConnection) => void;
  /** @throws {McpSessionError} `CONNECTION_UNAVAILABLE` */
  readonly throwIfDisposed: () => void;
}

/**
 * @param options.borrowed those of `connections` that belong to an enclosing run and are not closed
 * @param options.onFirstUse told when the first connection is used, here or in a run inside
 * @param options.useBorrowed told of the first use of each of them
 * @param options.isLeased whether somebody else disposes of the registry, and a run does not
 */
export function createConnectionRegistry({
  connections,
  borrowed = new Set(),
  useBorrowed,
  onFirstUse,
  abortSignal,
  isLeased,
  emit,
  endStep,
  scopeOf,
  track,
}: {
  connections: readonly LiveConnection[];
  borrowed?: ReadonlySet<LiveConnection> | undefined;
  useBorrowed?: ((connection: LiveConnection) => void) | undefined;
  onFirstUse?: (() => void) | undefined;
  /** Aborts when the step is to end, and when it has. */
  abortSignal: AbortSignal;
  isLeased: boolean;
  emit: (event: ConnectionEvent) => void;
  /** Marks the end of the step (`"closing"`), then aborts what is still under way (`"closed"`). */
  endStep: (phase: "closing" | "closed") => void;
  scopeOf: (registry: ConnectionRegistry) => RunScope;
  /** Has something closed with what the registry belongs to; returns how to forget it. */
  track: (close: () => Promise<void>) => () => void;
}): OwnedRegistry {
  const byName = new Map(connections.map((connection) => [connection.name, connection]));
  const owned = new Set(connections.filter((connection) => !borrowed.has(connection)));
  /** In the order in which they were used first. */
  const opened = new Set<Closable>();
  /** The runs inside, in the order in which they began. */
  const inside = new Set<Closable>();
  const inUse = new Set<LiveConnection>();
  let isUsed = false;
  let disposal: Promise<void> | undefined;
  let untrack: (() => void) | undefined;

  const own = (closables: Set<Closable>, close: () => Promise<void>) => {
    untrack ??= track(() => registry.dispose());
    const closable = { close };
    closables.add(closable);
    return () => void closables.delete(closable);
  };
  const use = (connection: LiveConnection) => {
    if (!isUsed) {
      isUsed = true;
      onFirstUse?.();
    }
    noteUse(connection);
  };
  const noteUse = (connection: LiveConnection) => {
    if (inUse.has(connection)) return;
    inUse.add(connection);
    if (owned.has(connection)) own(opened, () => closeConnection(connection, emit));
    else useBorrowed?.(connection);
  };

  const find = (name: string): LiveConnection => {
    if (disposal !== undefined) throw registryDisposed(name);
    const connection = byName.get(name);
    if (connection !== undefined) {
      use(connection);
      return connection;
    }
    throw notDeclared(name, [...byName.keys()], "name");
  };

  /** Runs `useOne` on connections all at once; of one that is down, says so and has no result. */
  const collect = async <T>(
    names: readonly string[],
    useOne: (connection: LiveConnection) => Promise<T>,
    onUnavailable: "omit" | "throw",
  ): Promise<T[]> => {
    const results = names.map(find).map(async (connection) => {
      const { name, origin } = connection;
      try {
        return [await abortable(useOne(connection), abortSignal)];
      } catch (cause) {
        // That the step was aborted or disposed of says nothing about the server.
        abortSignal.throwIfAborted();
        connection.abortSignal.throwIfAborted();
        const error = connectionUnavailable(cause, name, origin);
        if (onUnavailable === "throw") throw error;
        emit({ type: "unavailable", connection: name, error: withoutCause(error) });
        return [];
      }
    });
    return (await Promise.all(results)).flat();
  };

  const closeAll = async () => {
    endStep("closing");
    const openings = () => [...owned].flatMap((connection) => [...connection.openings]);
    const handshakes = [...owned].map((connection) => connection.settle());
    // First, since they use what is closed next.
    const insideClosed = closeInTurn({ opened: inside, timeoutMs: 2 * disposeTimeoutMs });
    const settling = Promise.allSettled([...openings(), ...handshakes, insideClosed]);
    await within(disposeTimeoutMs, settling);
    endStep("closed");
    // Those, too, that were opened in the meantime.
    const closed = closeInTurn({ opened, timeoutMs: disposeTimeoutMs });
    await within(disposeTimeoutMs, Promise.all([insideClosed, closed]));
    untrack?.();
  };

  const reportNotCommitted = () => {
    for (const { name } of inUse) {
      emit({ type: "close-failed", connection: name, reason: "not-committed" });
    }
  };
  const runs = createOverlappingRuns({
    close: isLeased ? undefined : () => registry.dispose(),
    abortSignal,
    track,
    reportNotCommitted,
  });

  const registry: ConnectionRegistry = {
    connections: connections.map(({ name, definition, session }) => ({
      name,
      description: definition.options.description,
      session,
    })),
    async tools({ connections: names = [...byName.keys()], onUnavailable = "omit" } = {}) {
      const sets = await collect(names, (connection) => connectionTools(connection), onUnavailable);
      return Object.assign({}, ...sets) as ToolSet;
    },
    async client(name) {
      const connection = find(name);
      // What is one's own ends by itself; one that is shared goes on for the others.
      const signal = borrowed.has(connection) ? abortSignal : undefined;
      const client = await abortable(connection.client(), signal);
      return tracedClient(client, connection.trace);
    },
    fetch: (name) => find(name).createFetch(),
    async instructions() {
      const entries = await collect([...byName.keys()], instructionsOf, "omit");
      return Object.fromEntries(entries.flat());
    },
    async call(name, tool, input, options) {
      return await callTool(find(name), tool, input, options);
    },
    async ready(name, options) {
      await waitUntilReady(find(name), abortSignal, options);
    },
    async run(useRegistry, { onClose } = {}) {
      if (disposal !== undefined) throw registryDisposed();
      const { result } = await runToEndOfStream({
        run: (inRun) => runs.run(() => enterScope(scope, inRun), onClose),
        step: () => useRegistry(registry),
        abortSignal,
      });
      return result;
    },
    get named() {
      return scope.named;
    },
    async dispose() {
      disposal ??= closeAll();
      await disposal;
    },
    [Symbol.asyncDispose]: () => registry.dispose(),
  };
  registerRegistryInternals(registry, { find, collect });
  const scope = scopeOf(registry);
  // A nested one ends with what is around it, even if it has used nothing so far.
  if (useBorrowed !== undefined) untrack = track(() => registry.dispose());
  return {
    registry,
    scope,
    connection: (name) => byName.get(name),
    own: (close) => own(inside, close),
    use,
    useAll: () => connections.forEach(noteUse),
    adopt(connection) {
      owned.add(connection);
      use(connection);
      // One that comes late is closed all the same.
      void disposal?.then(() => closeInTurn({ opened, timeoutMs: disposeTimeoutMs }));
    },
    throwIfDisposed() {
      if (disposal !== undefined) throw registryDisposed();
    },
  };
}

async function instructionsOf(connection: LiveConnection) {
  const { instructions } = await connection.client();
  return instructions ? [[connection.name, instructions] as const] : [];
}
