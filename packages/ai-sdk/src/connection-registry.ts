import type { MCPClient } from "@ai-sdk/mcp";
import { McpSessionError } from "@durable-mcp/core";
import type { ToolSet } from "ai";
import { connectionUnavailable, withoutCause } from "./connection-error.ts";
import type { ConnectionEvent } from "./connection-event.ts";
import { connectionTools } from "./connection-tools.ts";
import type { ConnectionToolSet } from "./connection-tool-set.ts";
import type { McpConnection } from "./mcp-connection.ts";
import type { RegistryConnection } from "./registry-connection.ts";
import { registerHooks } from "./registry-hooks.ts";

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
   * @param options.onUnavailable `"omit"` leaves out the tools of a connection that is down and
   *   reports it in an event; `"throw"` throws. @default "omit"
   * @throws {McpSessionError} with `"throw"`: `CONNECTION_UNAVAILABLE`, or the code that says why.
   *   The signal's reason when the step is aborted or disposed of meanwhile
   */
  tools(options?: { onUnavailable?: "omit" | "throw" }): Promise<ConnectionToolSet<CONNECTIONS>>;
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
   * Waits for handshakes in flight, for a bounded time, and closes the clients. The servers'
   * sessions, and what runs in them, go on; stdio servers end.
   */
  dispose(): Promise<void>;
}

/** How long `dispose` waits for handshakes and for each client to close, in milliseconds. */
const disposeTimeoutMs = 5_000;

export function createConnectionRegistry({
  connections,
  emit,
  endStep,
}: {
  connections: readonly RegistryConnection[];
  emit: (event: ConnectionEvent) => void;
  /** Marks the end of the step (`"closing"`), then aborts what is still under way (`"closed"`). */
  endStep: (phase: "closing" | "closed") => void;
}): ConnectionRegistry {
  const byName = new Map(connections.map((connection) => [connection.name, connection]));
  let disposal: Promise<void> | undefined;

  const find = (name: string): RegistryConnection => {
    if (disposal !== undefined) {
      throw new McpSessionError(
        "CONNECTION_UNAVAILABLE",
        `Connection ${name}: the registry was disposed of. Create one for each step.`,
        { data: { connection: name } },
      );
    }
    const connection = byName.get(name);
    if (connection !== undefined) return connection;
    throw new McpSessionError(
      "CONNECTION_INVALID",
      `There is no connection ${JSON.stringify(name)}. Declared: ${[...byName.keys()].join(", ")}.`,
      { data: { field: "name" } },
    );
  };

  /** Runs `use` on all connections at once; of one that is down, says so and has no result. */
  const collect = async <T>(
    use: (connection: RegistryConnection) => Promise<T>,
    onUnavailable: "omit" | "throw",
  ): Promise<T[]> => {
    const results = connections.map(async ({ name, origin }) => {
      const connection = find(name);
      try {
        return [await use(connection)];
      } catch (cause) {
        // That the step was aborted or disposed of says nothing about the server.
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
    const openings = () => connections.flatMap((connection) => [...connection.openings]);
    const handshakes = connections.map((connection) => connection.settle());
    await within(disposeTimeoutMs, Promise.allSettled([...openings(), ...handshakes]));
    endStep("closed");
    // Those, too, that were opened in the meantime.
    const closings = openings().map(async (opening) => await (await opening).close());
    const endings = connections.map(async (connection) => {
      // A session whose start was aborted is being ended.
      await connection.settle();
      await connection.endLooseSessions();
    });
    await within(disposeTimeoutMs, Promise.allSettled([...closings, ...endings]));
  };

  const registry: ConnectionRegistry = {
    connections: connections.map(({ name, definition, session }) => ({
      name,
      description: definition.options.description,
      session,
    })),
    async tools({ onUnavailable = "omit" } = {}) {
      const sets = await collect(async (connection) => {
        return await connectionTools(connection);
      }, onUnavailable);
      return Object.assign({}, ...sets) as ToolSet;
    },
    async client(name) {
      return await find(name).client();
    },
    fetch: (name) => find(name).createFetch(),
    async instructions() {
      const entries = await collect(async (connection) => {
        const { instructions } = await connection.client();
        return instructions ? [[connection.name, instructions] as const] : [];
      }, "omit");
      return Object.fromEntries(entries.flat());
    },
    async dispose() {
      disposal ??= closeAll();
      await disposal;
    },
    [Symbol.asyncDispose]: () => registry.dispose(),
  };
  registerHooks(registry, { find, collect });
  return registry;
}

async function within(ms: number, work: Promise<unknown>): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const timeout = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([work, timeout]);
  clearTimeout(timer);
}
