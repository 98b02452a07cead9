import { McpSessionError, type Principal } from "@durable-mcp/core";
import type { ConnectionRegistry } from "./connection-registry.ts";
import { isStateful, type McpClientConnection } from "../connection/define-connection.ts";
import { checkIdleTimeout } from "../slots/idle-timeout.ts";
import { clientConnections, type McpConnection } from "../connection/mcp-connection.ts";
import type { NamedConnections } from "./named-connections.ts";
import type { KeptSession, NamedEnding, NamedSlots } from "../slots/named-slots.ts";
import { runNested } from "./run-nested.ts";
import type { RunScope } from "./run-scope.ts";
import { checkSessionName, type NamedSlot } from "../slots/slot-name.ts";

/** One connection's part of a named session; without the MCP session's id. */
export type NamedSessionConnection = Omit<KeptSession, "name">;

/** A named session as it is kept. Times are milliseconds since 1970-01-01 UTC. */
export interface NamedSession {
  readonly name: string;
  /** When it was last used, on any of its connections. */
  readonly lastUsedAt: number;
  /** After how long without use it is ended, in milliseconds; the shortest, if they differ. */
  readonly idleTimeoutMs?: number | undefined;
  /** What it consists of. */
  readonly connections: readonly NamedSessionConnection[];
}

/** How the end of one connection's part of a named session went. */
export interface EndedNamedSession {
  readonly name: string;
  readonly connection: string;
  /** Whether no MCP session of it is left. */
  readonly ended: boolean;
  /** Why not. `undeclared`: there is no such connection (at that URL) any more. */
  readonly reason?: NamedEnding["reason"];
  /** The HTTP status, when there was an answer. */
  readonly status?: number | undefined;
}

/**
 * The named sessions of the agent session, of the registry's principal: each is an MCP session of
 * its own on one connection or several, which lasts with the agent session and is found again by
 * its name. Where they are kept in a store, everything may reject with `STORE_FAILED`.
 */
export interface NamedSessions<
  CONNECTIONS extends Record<string, McpConnection> = Record<string, McpConnection>,
> {
  /**
   * Makes a named session now, with its MCP sessions. (`withConnections` makes one on first use.) Two
   * processes that make one of the same name at once go on in the same.
   *
   * @param options.connections on which. @default all stateful ones
   * @param options.idleTimeoutMs after how long without use it is ended, in milliseconds; when the
   *   agent session is used next. With durable sessions at least three times `touchIntervalMs`.
   *   @default never
   * @throws {McpSessionError} `CONNECTION_INVALID` when there is one of that name, and for a
   *   connection that is not stateful; `CONNECTION_UNAVAILABLE`, and then nothing of it is kept
   */
  create(
    name: string,
    options?: {
      readonly connections?: readonly (keyof CONNECTIONS & string)[] | undefined;
      readonly idleTimeoutMs?: number | undefined;
    },
  ): Promise<NamedSession>;
  /** What is kept of one; `undefined` when there is none of that name. Sends nothing. */
  find(name: string): Promise<NamedSession | undefined>;
  /** What is kept of all, by name. Sends nothing. */
  list(): Promise<NamedSession[]>;
  /**
   * Runs `use` with the named session: `withConnections` for all connections that it has, and the
   * others inherited. A part that was ended is made anew.
   *
   * @returns what `use` returned
   * @throws {McpSessionError} `CONNECTION_INVALID` when there is none of that name, or none of its
   *   connections is declared any more
   */
  run<T>(
    name: string,
    use: (registry: ConnectionRegistry<CONNECTIONS>) => T | PromiseLike<T>,
    options?: { readonly abortSignal?: AbortSignal | undefined },
  ): Promise<T>;
  /**
   * Ends its MCP sessions on their servers, whether or not they can be reached; the next use of each
   * starts a new one, of which the model is told. What is under way on it fails.
   *
   * @throws {McpSessionError} `CONNECTION_INVALID` when there is none of that name
   */
  restart(name: string): Promise<EndedNamedSession[]>;
  /**
   * Forgets its kept tool lists, so that the tools are listed anew.
   *
   * @throws {McpSessionError} `CONNECTION_INVALID` when there is none of that name
   */
  clearTools(name: string): Promise<void>;
  /**
   * Ends its MCP sessions on their servers and forgets it. What could not be ended is kept, to be
   * tried again. Without one of that name it does nothing.
   */
  close(name: string): Promise<EndedNamedSession[]>;
}

/** @param options.scope the run that the registry is of */
export function createNamedSessions({
  declared,
  principal,
  slots,
  live,
  scope,
}: {
  declared: Readonly<Record<string, McpConnection>>;
  principal: Principal | undefined;
  slots: NamedSlots;
  live: NamedConnections;
  scope: () => RunScope;
}): NamedSessions<any> {
  const clients = clientConnections(declared);
  const definitionOf = (connection: string): McpClientConnection | undefined =>
    Object.hasOwn(clients, connection) ? clients[connection] : undefined;
  // Without a stateful connection a registry needs no principal, and has no named sessions.
  const list = async () => {
    if (principal === undefined) return [];
    slots.endIdle(principal, clients);
    return await slots.list(principal);
  };

  const partsOf = async (name: string) => {
    checkSessionName(name, "name");
    const parts = (await list()).filter((kept) => kept.name === name);
    return parts.toSorted(byConnection);
  };
  const existing = async (name: string) => {
    const parts = await partsOf(name);
    if (parts.length > 0) return parts;
    throw invalid("name", `There is no session ${JSON.stringify(name)}. Make it with create.`);
  };
  const endParts = async (parts: readonly NamedSlot[], mode: "restart" | "close") =>
    await Promise.all(
      parts.map(async (part): Promise<EndedNamedSession> => {
        const { name, connection } = part;
        const definition = definitionOf(connection);
        const outcome = await live.end(
          { name, connection },
          { principal: principal!, definition, mode },
        );
        return { name, connection, ...outcome };
      }),
    );

  const named: NamedSessions = {
    async create(name, { connections, idleTimeoutMs } = {}) {
      checkSessionName(name, "name");
      checkIdleTimeout(idleTimeoutMs, "idleTimeoutMs");
      const definitions = chooseStateful(declared, connections);
      const all = definitions.map(([connection]) => ({ connection, name }));
      return await live.alone(name, principal!, async () => {
        if ((await partsOf(name)).length > 0) {
          throw invalid("name", `There is a session ${JSON.stringify(name)} already. Use run.`);
        }
        const creations = definitions.map(async ([connection, definition]) => {
          const use = { principal: principal!, definition };
          await live.create({ connection, name }, use, idleTimeoutMs);
        });
        const outcomes = await Promise.allSettled(creations);
        const failure = outcomes.find((outcome) => outcome.status === "rejected");
        if (failure === undefined) return (await named.find(name))!;
        await endParts(all, "close").catch(() => undefined);
        throw failure.reason;
      });
    },

    async find(name) {
      const parts = await partsOf(name);
      return parts.length > 0 ? together(name, parts) : undefined;
    },

    async list() {
      const byName = Map.groupBy(await list(), ({ name }) => name);
      const sorted = [...byName].toSorted(([a], [b]) => (a < b ? -1 : 1));
      return sorted.map(([name, parts]) => together(name, parts));
    },

    async run(name, use, { abortSignal } = {}) {
      const parts = await existing(name);
      const stateful = parts.filter(({ connection }) => {
        const definition = definitionOf(connection);
        return definition !== undefined && isStateful(definition);
      });
      if (stateful.length === 0) {
        throw invalid(
          "name",
          `Session ${JSON.stringify(name)} is of no connection that is declared.`,
        );
      }
      const modes = Object.fromEntries(
        stateful.map(({ connection }) => [connection, { named: name }]),
      );
      return await runNested(scope(), { modes, abortSignal }, use);
    },

    async restart(name) {
      return await endParts(await existing(name), "restart");
    },

    async clearTools(name) {
      const parts = await existing(name);
      await Promise.all(
        parts.map(async (part) => {
          const definition = definitionOf(part.connection);
          await live.clearTools(part, { principal: principal!, definition });
        }),
      );
    },

    async close(name) {
      return await endParts(await partsOf(name), "close");
    },
  };
  return named;
}

function together(name: string, parts: readonly KeptSession[]): NamedSession {
  const timeouts = parts.flatMap(({ idleTimeoutMs }) => idleTimeoutMs ?? []);
  return {
    name,
    lastUsedAt: Math.max(...parts.map(({ lastUsedAt }) => lastUsedAt)),
    ...(timeouts.length > 0 && { idleTimeoutMs: Math.min(...timeouts) }),
    connections: parts.map(withoutName).toSorted(byConnection),
  };
}

function withoutName(kept: KeptSession): NamedSessionConnection {
  const { name: _, ...part } = kept;
  return part;
}

function byConnection(a: { connection: string }, b: { connection: string }): number {
  return a.connection < b.connection ? -1 : 1;
}

function chooseStateful(
  declared: Readonly<Record<string, McpConnection>>,
  chosen: readonly string[] | undefined,
): (readonly [connection: string, definition: McpClientConnection])[] {
  const names = chosen === undefined ? Object.keys(declared) : [...new Set(chosen)];
  const stateful = names.flatMap((connection) => {
    const definition = Object.hasOwn(declared, connection) ? declared[connection]! : undefined;
    if (definition?.type === "mcp-client" && isStateful(definition)) {
      return [[connection, definition] as const];
    }
    if (chosen === undefined) return [];
    const what = definition === undefined ? "is not declared" : "is not stateful";
    const own = JSON.stringify(connection);
    throw invalid("connections", `Connection ${own} ${what}: nothing of it lasts under a name.`);
  });
  if (stateful.length > 0) return stateful;
  throw invalid("connections", "There is no stateful connection to have a named session on.");
}

function invalid(field: string, message: string): McpSessionError {
  return new McpSessionError("CONNECTION_INVALID", message, { data: { field } });
}
