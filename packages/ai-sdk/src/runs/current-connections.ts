import { McpSessionError, type Principal } from "@durable-mcp/core";
import { currentAutoSession } from "../registry/auto-session.ts";
import type { ConnectionProvider } from "../provider/connection-provider.ts";
import type { ConnectionRegistry } from "../registry/connection-registry.ts";
import { createEphemeralRegistry } from "./ephemeral-registry.ts";
import type { Connections } from "../connection/mcp-connection.ts";
import { currentScope, hasScopes } from "../registry/run-scope.ts";

/** For code that may be called outside of any run. */
export type CurrentConnectionsOptions<CONNECTIONS extends Connections = Connections> =
  | { readonly ephemeral?: false | undefined }
  | {
      /** Outside of a run: a registry that opens what it needs for each call, and ends it afterwards. */
      readonly ephemeral: true;
      readonly provider: ConnectionProvider<CONNECTIONS>;
      /** Needed as soon as one connection is stateful. */
      readonly principal?: Principal | undefined;
    };

/**
 * Returns the registry of the run around the calling code, however deep below `registry.run`,
 * `sessions.run`, a durable agent or `withConnections` the code is.
 *
 * @example
 * const saveNote = tool({
 *   inputSchema: z.object({ text: z.string() }),
 *   execute: ({ text }) => currentConnections().call("notes", "add_note", { text }),
 * });
 *
 * @param options.ephemeral outside of a run, a registry without a session that lasts: each `call`, each
 *   tool call and each `run` has a session of its own, which is ended on the server afterwards.
 *   `client` and `fetch` would outlive a call, and throw
 * @throws {McpSessionError} `RUN_REQUIRED` outside of a run, unless a provider has `autoSession`
 */
export function currentConnections<CONNECTIONS extends Connections = Connections>(
  options: CurrentConnectionsOptions<CONNECTIONS> = {},
): ConnectionRegistry<CONNECTIONS> {
  const scope = currentScope();
  if (scope !== undefined) return scope.registry;
  if (options.ephemeral) return createEphemeralRegistry(options);
  const auto = currentAutoSession();
  if (auto !== undefined) return auto;
  throw runRequired("currentConnections");
}

export function runRequired(caller: string): McpSessionError {
  const fix = hasScopes()
    ? "Call it inside registry.run, sessions.run or a durable agent, ask for an ephemeral registry, or give the provider autoSession."
    : "This runtime has no AsyncLocalStorage: pass the registry on by hand.";
  return new McpSessionError("RUN_REQUIRED", `${caller} was called outside of a run. ${fix}`);
}
