import type { LiveConnection } from "../connection/live-connection.ts";
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
}

const internals = new WeakMap<object, RegistryInternals>();

export function registerRegistryInternals(registry: object, ofRegistry: RegistryInternals): void {
  internals.set(registry, ofRegistry);
}

/**
 * @throws {TypeError} for an ephemeral registry, that of `autoSession`, and one of another copy of this
 * package
 */
export function registryInternalsOf(registry: ConnectionRegistry<any>): RegistryInternals {
  const found = internals.get(registry);
  if (found !== undefined) return found;
  throw new TypeError(
    "The registry is ephemeral or implicit, or was not made by this copy of @durable-mcp/ai-sdk. Use the registry of a run or of provider.create().",
  );
}
