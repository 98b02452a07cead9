import { McpSessionError } from "@durable-mcp/core";
import { abortable } from "@durable-mcp/core/internal";
import type { LiveConnection } from "../connection/live-connection.ts";
import { notDeclared } from "../declare/mcp-connection.ts";
import { connectionUnavailable, emitUnavailable } from "../events/connection-error.ts";
import type { ConnectionEvent } from "../events/connection-event.ts";
import type { RunConnection } from "../connection/run-connection.ts";
import type { RunLifetime } from "./run-lifetime.ts";

/** How a run uses its connections. */
export interface ConnectionUses {
  /**
   * Finds a connection for a use.
   *
   * @throws {McpSessionError} `CONNECTION_INVALID` for an unknown name, `CONNECTION_UNAVAILABLE`
   *   when the run is over
   */
  readonly find: (name: string) => LiveConnection;
  /**
   * Runs `use` on connections all at once, and collects the results. With `"omit"` a connection that is
   * down has no result, and the event `unavailable` reports it. With `"throw"` it throws, and so does a
   * required connection always, whose server is asked first. With `"stand-in"` it throws but for `standIn`.
   *
   * @param standIn gives the result of a connection whose user has to sign in, if such a call can wait
   * @throws {McpSessionError} as `find`
   */
  readonly collect: <T>(
    names: readonly string[],
    use: (connection: LiveConnection) => Promise<T>,
    onUnavailable: "omit" | "stand-in" | "throw",
    standIn?: (connection: LiveConnection, startUrl: string | undefined) => Promise<T>,
  ) => Promise<T[]>;
  /** For events of the run's connections. */
  readonly emit: (event: ConnectionEvent) => void;
}

const namesOf = (connections: readonly RunConnection[]) => connections.map(({ name }) => name);

/** Finds the connections of a run, and notes their uses. */
export function useConnections(connections: readonly RunConnection[], lifetime: RunLifetime) {
  const { signal } = lifetime;
  const noted = new Set<LiveConnection>();
  const lookUp = (name: string): LiveConnection => {
    lifetime.throwIfOver(name);
    const found = connections.find((each) => each.name === name);
    if (found === undefined) throw notDeclared(name, namesOf(connections), "name");
    const connection = found.live();
    lifetime.use(connection);
    return connection;
  };
  const find = (name: string): LiveConnection => {
    const connection = lookUp(name);
    if (noted.has(connection)) return connection;
    noted.add(connection);
    connection.noteRun();
    return connection;
  };
  const emit: ConnectionUses["emit"] = (event) => lookUp(event.connection).emit(event);
  const collect: ConnectionUses["collect"] = async (names, use, onUnavailable, useStandIn) => {
    const results = names.map(find).map(async (connection) => {
      const { name, origin } = connection;
      const attempt = async () => {
        await askRequired(connection);
        return await use(connection);
      };
      try {
        return [await abortable(attempt(), signal)];
      } catch (cause) {
        // An abort of the step, or its end, says nothing about the server.
        signal.throwIfAborted();
        connection.abortSignal.throwIfAborted();
        const error = connectionUnavailable(cause, name, origin);
        if (isOfStore(error)) throw error;
        emitUnavailable(connection.emit, name, error);
        if (isRequired(connection)) throw requiredUnavailable(error, name);
        if (onUnavailable === "throw") throw error;
        const isLocked = connection.signIn !== undefined && error.code === "AUTHORIZATION_REQUIRED";
        if (isLocked && useStandIn) return [await useStandIn(connection, error.data.startUrl)];
        if (onUnavailable === "stand-in") throw error;
        return [];
      }
    });
    return (await Promise.all(results)).flat();
  };

  /** Connects those that a step needs. */
  const connect = async (onUnavailable: "omit" | "throw" = "omit") => {
    const isNeeded = (each: RunConnection) => onUnavailable === "throw" || isRequired(each);
    const needed = connections.filter(isNeeded).map(({ name }) => name);
    await collect(needed, async (connection) => await connection.client(), onUnavailable);
  };
  return {
    /** Finds a connection for a use without its client. */
    lookUp,
    ...{ find, collect, emit, connect },
  };
}

/** Whether a session could not be saved. It says nothing about the server, and no step may go on. */
function isOfStore({ code }: McpSessionError): boolean {
  return code === "STORE_FAILED" || code === "STATE_INVALID";
}

const answered = new WeakMap<LiveConnection, Promise<void>>();

function isRequired({ definition }: Pick<LiveConnection | RunConnection, "definition">): boolean {
  return definition.options.required === true;
}

/** The error of a required connection that is unavailable. */
function requiredUnavailable(
  { code, message, data, cause }: McpSessionError,
  name: string,
): McpSessionError {
  const why = message.replace(`Connection ${name}: `, "");
  return new McpSessionError(code, `Connection ${name} is required: ${why}`, { data, cause });
}

/**
 * Asks the server of a required connection, once a step, because a kept tool list would answer in its
 * place. A failure is not kept.
 *
 * @throws the reason why the server did not answer
 */
async function askRequired(connection: LiveConnection): Promise<void> {
  if (!isRequired(connection)) return;
  const known = answered.get(connection);
  if (known !== undefined) return await known;
  const asking = connection.inConnectTime(connection.abortSignal, (signal) =>
    connection.withRecovery(undefined, () => connection.ask(signal)),
  );
  answered.set(connection, asking);
  try {
    await asking;
  } catch (error) {
    answered.delete(connection);
    throw connection.restoreError(error);
  }
}
