import type { CallToolResult, MCPClient } from "@ai-sdk/mcp";
import { McpSessionError } from "@durable-mcp/core";
import type { ToolSet } from "ai";
import { callTool, type CallOptions } from "./call-tool.ts";
import { type Closable, closeInTurn } from "./close-in-turn.ts";
import { closeConnection } from "./close-connection.ts";
import { connectionUnavailable, withoutCause } from "./connection-error.ts";
import type { ConnectionEvent } from "./connection-event.ts";
import { connectionTools } from "./connection-tools.ts";
import type { ConnectionToolSet } from "./connection-tool-set.ts";
import type { McpConnection } from "./mcp-connection.ts";
import type { NamedSessions } from "./named-sessions.ts";
import type { RegistryConnection } from "./registry-connection.ts";
import { tracedClient } from "./traced-client.ts";
import { registryDisposed } from "./registry-disposed.ts";
import { registerHooks } from "./registry-hooks.ts";
import { enterScope, type RunScope } from "./run-scope.ts";
import { untilAborted } from "./until-aborted.ts";
import { type ReadyOptions, waitUntilReady } from "./wait-until-ready.ts";
import { within } from "./within.ts";

export interface RunOptions {
  /**
   * Called once when the clients are closed, whatever became of the run, and on `shutdown` of the
   * provider too: the place to commit and to save.
   */
  readonly onClose?: (() => void | Promise<void>) | undefined;
}

/** A step's live clients, one a connection, built on first use. */
export interface ConnectionRegistry<
  CONNECTIONS extends Record<string, McpConnection> = Record<string, McpConnection>,
> extends AsyncDisposable {
  /** What is declared, for prompts and menus. */
  readonly connections: readonly {
    readonly name: string;
    readonly description: string;
    /** `"process"`: what the server holds lasts as long as the registry. */
    readonly session: "stateful" | "stateless" | "process";
  }[];
  /**
   * The tools of all connections as an AI SDK `ToolSet`, named `<connection>__<tool>`. With a kept
   * tool list nothing is sent.
   *
   * @param options.connections those of these connections alone. @default all
   * @param options.onUnavailable `"omit"` leaves out the tools of a connection that is down and
   *   reports it in an event; `"throw"` throws. @default "omit"
   * @throws {McpSessionError} with `"throw"`: `CONNECTION_UNAVAILABLE`, or the code that says why.
   *   `CONNECTION_INVALID` for an unknown name. The signal's reason when the step is aborted or
   *   disposed of meanwhile
   */
  tools(options?: {
    connections?: readonly (keyof CONNECTIONS & string)[] | undefined;
    onUnavailable?: "omit" | "throw" | undefined;
  }): Promise<ConnectionToolSet<CONNECTIONS>>;
  /**
   * The live `@ai-sdk/mcp` client of a connection, for resources, prompts and direct calls.
   *
   * @throws {McpSessionError} `CONNECTION_INVALID` for an unknown name, `CONNECTION_UNAVAILABLE`
   */
  client(name: keyof CONNECTIONS & string): Promise<MCPClient>;
  /**
   * A fetch for any other MCP client, one each, with the connection's headers and token and, for a stateful
   * connection, its session. The tokens of an `authProvider` are added to requests without an
   * `Authorization` of their own; they are not renewed, and nobody is asked to log in.
   *
   * @throws {McpSessionError} `CONNECTION_INVALID` for an unknown name, and for a stdio connection
   */
  fetch(name: keyof CONNECTIONS & string): typeof globalThis.fetch;
  /** What the servers say about how to use them, by connection; those that are down are left out. */
  instructions(): Promise<Record<string, string>>;
  /**
   * Runs `use` so that all code below it (tools, sub-agents, libraries, whatever they wait for)
   * finds this registry with `currentConnections()`. When the outermost run of a registry is over,
   * the registry is disposed of; that of a lease or of a nested run is left to its owner.
   *
   * Read streams to their end inside. An abort of the step's signal closes the clients at once.
   *
   * @returns what `use` returned, after everything was closed
   */
  run<T>(
    use: (registry: ConnectionRegistry<CONNECTIONS>) => T | PromiseLike<T>,
    options?: RunOptions,
  ): Promise<T>;
  /**
   * Calls a tool without a model, by the server's name for it, whether or not it is offered to models.
   *
   * @param input the tool's arguments. @default {}
   * @returns the server's result, also when it is one of an error (`isError`)
   * @throws {McpSessionError} as the tools do
   */
  call(
    connection: keyof CONNECTIONS & string,
    tool: string,
    input?: Readonly<Record<string, unknown>>,
    options?: CallOptions,
  ): Promise<CallToolResult>;
  /**
   * Waits until the server of a connection answers: one that is still starting is asked again, in
   * growing intervals.
   *
   * @throws {McpSessionError} `CONNECTION_UNAVAILABLE` when it did not answer in time; at once what
   *   waiting does not change, such as a refused token. The signal's reason when it is aborted
   */
  ready(connection: keyof CONNECTIONS & string, options?: ReadyOptions): Promise<void>;
  /** The named sessions of the agent session: made, found, listed, used, restarted and closed by name. */
  readonly named: NamedSessions<CONNECTIONS>;
  /**
   * Waits for handshakes in flight, for a bounded time, and closes the clients, the last one opened
   * first. The servers' sessions, and what runs in them, go on; stdio servers end. Never rejects:
   * what could not be closed is the event `close-failed`.
   */
  dispose(): Promise<void>;
}

/** How long `dispose` waits for handshakes, and then for the clients to close, in milliseconds. */
const disposeTimeoutMs = 5_000;

/** A registry, and what the runs that belong to it need of it. */
export interface OwnedRegistry {
  readonly registry: ConnectionRegistry;
  readonly scope: RunScope;
  /** A connection as this registry uses it; `undefined` if none is declared by that name. */
  readonly connection: (name: string) => RegistryConnection | undefined;
  /** Has a run inside closed with the registry, before its connections; returns how to forget it. */
  readonly own: (close: () => Promise<void>) => () => void;
  /** Notes that a connection is in use, here or in a run inside. */
  readonly use: (connection: RegistryConnection) => void;
  /** Notes that all are to be closed, used or not. */
  readonly useAll: () => void;
  /** Makes the registry the owner of a connection that it does not itself offer. */
  readonly adopt: (connection: RegistryConnection) => void;
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
  connections: readonly RegistryConnection[];
  borrowed?: ReadonlySet<RegistryConnection> | undefined;
  useBorrowed?: ((connection: RegistryConnection) => void) | undefined;
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
  const inUse = new Set<RegistryConnection>();
  let isUsed = false;
  let disposal: Promise<void> | undefined;
  let untrack: (() => void) | undefined;
  let running: ReturnType<typeof startRunning> | undefined;

  const own = (closables: Set<Closable>, close: () => Promise<void>) => {
    untrack ??= track(() => registry.dispose());
    const closable = { close };
    closables.add(closable);
    return () => void closables.delete(closable);
  };
  const use = (connection: RegistryConnection) => {
    if (!isUsed) {
      isUsed = true;
      onFirstUse?.();
    }
    noteUse(connection);
  };
  const noteUse = (connection: RegistryConnection) => {
    if (inUse.has(connection)) return;
    inUse.add(connection);
    if (owned.has(connection)) own(opened, () => closeConnection(connection, emit));
    else useBorrowed?.(connection);
  };

  const find = (name: string): RegistryConnection => {
    if (disposal !== undefined) throw registryDisposed(name);
    const connection = byName.get(name);
    if (connection !== undefined) {
      use(connection);
      return connection;
    }
    throw new McpSessionError(
      "CONNECTION_INVALID",
      `There is no connection ${JSON.stringify(name)}. Declared: ${[...byName.keys()].join(", ")}.`,
      { data: { field: "name" } },
    );
  };

  /** Runs `useOne` on connections all at once; of one that is down, says so and has no result. */
  const collect = async <T>(
    names: readonly string[],
    useOne: (connection: RegistryConnection) => Promise<T>,
    onUnavailable: "omit" | "throw",
  ): Promise<T[]> => {
    const results = names.map(find).map(async (connection) => {
      const { name, origin } = connection;
      try {
        return [await untilAborted(useOne(connection), abortSignal)];
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
  const disposeEarly = () => void registry.dispose();
  /** What all runs of the registry that overlap have in common. */
  const startRunning = () => {
    const onClose: NonNullable<RunOptions["onClose"]>[] = [];
    const failures: unknown[] = [];
    if (!isLeased) abortSignal.addEventListener("abort", disposeEarly, { once: true });
    const closeNext = async () => {
      if (!isLeased) await registry.dispose();
      for (let call = onClose.shift(); call !== undefined; call = onClose.shift()) {
        // Of runs that overlap, one that cannot save keeps none of the others from it.
        try {
          await call();
        } catch (error) {
          failures.push(error);
        }
      }
      if (failures.length > 0) throw failures[0];
    };
    let closing = Promise.resolve();
    /** Once for `shutdown`, once at the end: what the first has failed with, the second fails with too. */
    const close = async () => {
      closing = closing.then(closeNext, closeNext);
      await closing;
    };
    const forget = track(close);
    return {
      uses: 0,
      onClose,
      async end() {
        this.uses -= 1;
        if (this.uses > 0) return;
        running = undefined;
        abortSignal.removeEventListener("abort", disposeEarly);
        await close().finally(forget);
      },
    };
  };

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
      const client = await untilAborted(connection.client(), signal);
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
      running ??= startRunning();
      const current = running;
      current.uses += 1;
      if (onClose) current.onClose.push(onClose);
      let result;
      try {
        abortSignal.throwIfAborted();
        result = await enterScope(scope, async () => await useRegistry(registry));
      } catch (error) {
        // What the run failed with is what its caller has to know.
        await current.end().catch(reportNotCommitted);
        throw error;
      }
      await current.end();
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
  registerHooks(registry, { find, collect });
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

async function instructionsOf(connection: RegistryConnection) {
  const { instructions } = await connection.client();
  return instructions ? [[connection.name, instructions] as const] : [];
}
