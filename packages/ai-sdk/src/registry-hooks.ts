/**
 * What other packages of this project need of a registry to put its connections behind clients of
 * their own. Not for applications: it may change with every release, and all packages are released
 * together.
 */
import type { ConnectionRegistry } from "./connection-registry.ts";
import type { RegistryConnection } from "./registry-connection.ts";

export { connectionUnavailable } from "./connection-error.ts";
export { type Execute, withCallOptions } from "./connection-tools.ts";
export type { McpClientConnection } from "./define-connection.ts";
export { isToolError } from "./is-tool-error.ts";
export type { LossNotice } from "./loss-notice.ts";
export type { RegistryConnection } from "./registry-connection.ts";
export { toolName } from "./tool-name.ts";
export { untilAborted } from "./until-aborted.ts";
export { within } from "./within.ts";

export interface RegistryHooks {
  /**
   * A connection that is about to be used.
   *
   * @throws {McpSessionError} `CONNECTION_INVALID` for an unknown name, `CONNECTION_UNAVAILABLE`
   *   when the registry was disposed of
   */
  readonly find: (name: string) => RegistryConnection;
  /**
   * Runs `use` on connections all at once, for their results. One that is down has none with
   * `"omit"`, which the event `unavailable` reports; `"throw"` throws.
   *
   * @throws {McpSessionError} as `find`
   */
  readonly collect: <T>(
    names: readonly string[],
    use: (connection: RegistryConnection) => Promise<T>,
    onUnavailable: "omit" | "throw",
  ) => Promise<T[]>;
}

const hooks = new WeakMap<object, RegistryHooks>();

export function registerHooks(registry: object, ofRegistry: RegistryHooks): void {
  hooks.set(registry, ofRegistry);
}

/** @throws {TypeError} for an ephemeral registry, that of `autoSession`, and one of another copy of this package */
export function hooksOf(registry: ConnectionRegistry<any>): RegistryHooks {
  const found = hooks.get(registry);
  if (found !== undefined) return found;
  throw new TypeError(
    "The registry is ephemeral or implicit, or was not made by this copy of @durable-mcp/ai-sdk. Use that of a run or of provider.create().",
  );
}
