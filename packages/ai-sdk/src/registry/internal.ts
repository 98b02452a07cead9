/**
 * What other packages of this project need of a registry to put its connections behind clients of
 * their own. Not for applications: it may change with every release, and all packages are released
 * together.
 */
import type { ConnectionRegistry } from "./connection-registry.ts";
import type { RegistryConnection } from "../http/http-connection.ts";

export { connectionUnavailable } from "../errors/connection-error.ts";
export { type Execute, withCallOptions } from "../tools/connection-tools.ts";
export type { McpClientConnection } from "../connection/define-connection.ts";
export { isToolError } from "../tools/is-tool-error.ts";
export type { LossNotice } from "../connection/loss-notice.ts";
export type { RegistryConnection } from "../http/http-connection.ts";
export { toolName } from "../tools/tool-name.ts";
export { untilAborted } from "../base/until-aborted.ts";
export { within } from "../base/within.ts";

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
