import type { LiveConnection } from "../connection/live-connection.ts";
import type { ConnectionEvent } from "../events/connection-event.ts";
import type { ConnectionRegistry } from "./connection-registry.ts";

/** The parts of a registry that other packages of this project need beyond its interface. */
export interface RegistryInternals {
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
}

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
export function registryInternalsOf(registry: ConnectionRegistry<any>): LendInternals {
  const found = lenders.get(registry);
  if (found !== undefined) return found;
  throw new TypeError(
    "The registry was not made by this copy of @durable-mcp/ai-sdk. Install the package once.",
  );
}
