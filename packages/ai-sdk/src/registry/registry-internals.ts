import type { LiveConnection } from "../connection/live-connection.ts";
import type { ConnectionRegistry } from "./connection-registry.ts";

/** What other packages of this project need of a registry beyond its interface. */
export interface RegistryInternals {
  /**
   * A connection that is about to be used.
   *
   * @throws {McpSessionError} `CONNECTION_INVALID` for an unknown name, `CONNECTION_UNAVAILABLE`
   *   when the registry was disposed of
   */
  readonly find: (name: string) => LiveConnection;
  /**
   * Runs `use` on connections all at once, for their results. With `"omit"` a connection that is
   * down has none, and is the event `unavailable`; `"throw"` throws.
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
