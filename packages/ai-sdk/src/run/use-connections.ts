import { McpSessionError } from "@durable-mcp/core";
import { abortable } from "@durable-mcp/core/internal";
import type { LiveConnection } from "../connection/live-connection.ts";
import { notDeclared } from "../connection/mcp-connection.ts";
import { authorizationRequired, connectionUnavailable } from "../events/connection-error.ts";
import { emitUnavailable } from "../events/connection-error.ts";
import type { ConnectionEvent } from "../events/connection-event.ts";
import { connectionTools } from "../tools/connection-tools.ts";
import type { ConnectionSet } from "../tools/same-names.ts";
import { standInTool } from "../tools/stand-in-tool.ts";
import type { ConnectionRun } from "./connection-registry.ts";
import type { RegistryLifetime } from "./registry-lifetime.ts";

/** The parts of a registry that other packages of this project need beyond its interface. */
interface RegistryInternals {
  /**
   * Finds a connection for a use.
   *
   * @throws {McpSessionError} `CONNECTION_INVALID` for an unknown name, `CONNECTION_UNAVAILABLE`
   *   when the registry was disposed of
   */
  readonly find: (name: string) => LiveConnection;
  /**
   * Runs `use` on connections all at once, and collects the results. With `"omit"` a connection that is
   * down has no result, and the event `unavailable` reports it. With `"throw"` it throws, and so does a
   * required connection always, whose server is asked first.
   *
   * @throws {McpSessionError} as `find`
   */
  readonly collect: <T>(
    names: readonly string[],
    use: (connection: LiveConnection) => Promise<T>,
    onUnavailable: "omit" | "throw",
  ) => Promise<T[]>;
  /** For events of the registry's connections. */
  readonly emit: (event: ConnectionEvent) => void;
  /** Lists all tools, for the first `tools()` of the step. */
  readonly begin: (onUnavailable: "omit" | "throw" | undefined) => Promise<void>;
}

export type UsedConnections = Omit<RegistryInternals, "begin">;

/**
 * Calls `use` with the internals of a registry. A registry that borrows others lends those of the one that
 * is current, which lasts until `use` is done.
 */
export type LendInternals = <T>(use: (internals: RegistryInternals) => Promise<T>) => Promise<T>;

const lenders = new WeakMap<object, LendInternals>();

export function registerRegistryInternals(registry: object, lend: LendInternals): void {
  lenders.set(registry, lend);
}

/** @throws {TypeError} for a registry of another copy of this package */
export function registryInternalsOf(registry: ConnectionRun<any>): LendInternals {
  const found = lenders.get(registry);
  if (found !== undefined) return found;
  throw new TypeError(
    "The registry was not made by this copy of @durable-mcp/ai-sdk. Install the package once.",
  );
}

/** Finds the connections of a registry, and notes their uses. */
export function createInternals(
  connections: readonly LiveConnection[],
  lifetime: RegistryLifetime,
  allNames: readonly string[],
) {
  const { signal } = lifetime;
  const noted = new Set<LiveConnection>();
  const lookUp = (name: string): LiveConnection => {
    lifetime.throwIfOver(name);
    const connection = connections.find((each) => each.name === name);
    if (connection === undefined) throw notDeclared(name, allNames, "name");
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
  const internals: UsedConnections = {
    find,
    emit: (event) => lookUp(event.connection).emit(event),
    async collect(names, use, onUnavailable) {
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
          return [];
        }
      });
      return (await Promise.all(results)).flat();
    },
  };
  /** `lookUp` finds a connection for a use without its client. */
  return { lookUp, internals };
}

/** Whether a session could not be saved. It says nothing about the server, and no step may go on. */
function isOfStore({ code }: McpSessionError): boolean {
  return code === "STORE_FAILED" || code === "STATE_INVALID";
}

const answered = new WeakMap<LiveConnection, Promise<void>>();

function isRequired({ definition }: LiveConnection): boolean {
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

/**
 * The tools of a connection. While its user has to sign in, and the step goes on without it, there is a stand-in.
 *
 * @throws the reason why there is no tool
 */
export async function listTools(
  connection: LiveConnection,
  onUnavailable: "omit" | "throw",
): Promise<ConnectionSet> {
  const { name, signIn } = connection;
  try {
    return { connection: name, tools: await connectionTools(connection) };
  } catch (error) {
    const isOmitted = onUnavailable === "omit" && !isRequired(connection);
    const required = authorizationRequired(error, name);
    if (!isOmitted || signIn === undefined || required === undefined) throw error;
    connection.tell(required);
    return { connection: name, tools: await standInTool(connection, required), isDown: true };
  }
}
