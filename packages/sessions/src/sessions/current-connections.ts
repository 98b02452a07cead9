import { McpSessionError, type Principal } from "@durable-mcp/core";
import { checkOptions, optionalOptions } from "../base/check-options.ts";
import type { Connections } from "../declare/mcp-connection.ts";
import type { ConnectionProvider } from "./connection-provider.ts";
import { internalsOf } from "./provider-internals.ts";
import { currentAutoSession } from "../run/auto-session.ts";
import type { ConnectionRun } from "../run/connection-run.ts";
import { nestSchema } from "../run/run-options.ts";
import { createLentRun } from "../run/lent-run.ts";
import { type ConnectionMode, currentScope, hasScopes, runNested } from "../run/run-scope.ts";

/** Options of `currentConnections`, for code that may be called outside of any run. */
export type CurrentConnectionsOptions<CONNECTIONS extends Connections = Connections> =
  | { readonly ephemeral?: false | undefined }
  | {
      /**
       * Outside of a run: a run without a session that lasts. Each `call`, each tool call and each `run` has a
       * session of its own, which is ended on the server afterwards. `client` and `fetch` would outlive a call, and
       * throw. @default false
       */
      readonly ephemeral: true;
      /** The provider of its connections. */
      readonly provider: ConnectionProvider<CONNECTIONS, any>;
      /** On whose behalf. Required if a connection is stateful (`PRINCIPAL_REQUIRED`). */
      readonly principal?: Principal | undefined;
    };

/** Returns the run around the calling code. @throws {McpSessionError} `RUN_REQUIRED` outside of a run */
export function currentConnections<CONNECTIONS extends Connections = Connections>(
  options: CurrentConnectionsOptions<CONNECTIONS> = {},
): ConnectionRun<CONNECTIONS> {
  const scope = currentScope();
  // In a run nothing depends on the options.
  if (scope !== undefined) return scope.run;
  checkOptions(currentSchema, options);
  if (options.ephemeral) return createEphemeralRun(options);
  const auto = currentAutoSession();
  if (auto !== undefined) return auto;
  throw runRequired("currentConnections");
}

const currentSchema = optionalOptions({
  ...{ ephemeral: "flag", provider: "object", principal: "anything" },
});

function runRequired(caller: string): McpSessionError {
  const fix = hasScopes()
    ? "Call it inside run.enter, sessions.run or a durable agent, ask for an ephemeral run, or give the provider autoSession."
    : "This runtime has no AsyncLocalStorage: pass the run on by hand.";
  return new McpSessionError("RUN_REQUIRED", `${caller} was called outside of a run. ${fix}`);
}

/** Options of `withConnections`. */
export interface WithConnectionsOptions {
  /** On whose behalf. Nothing can be inherited under another. @default the principal of the run around */
  readonly principal?: Principal | undefined;
  /** Ends the nested run's own handshakes and listings, and closes its isolated connections. */
  readonly abortSignal?: AbortSignal | undefined;
}

/**
 * Runs `use` in a nested run, inside the run around the calling code.
 *
 * @throws {McpSessionError} `RUN_REQUIRED` outside of a run, `CONNECTION_INVALID`, `CONNECTION_UNAVAILABLE`
 */
export async function withConnections<T, CONNECTIONS extends Connections = Connections>(
  modes: { readonly [NAME in keyof CONNECTIONS & string]?: ConnectionMode | undefined },
  use: (run: ConnectionRun<CONNECTIONS>) => T | PromiseLike<T>,
  options: WithConnectionsOptions = {},
): Promise<T> {
  const nest = { modes, ...checkOptions(nestSchema, options) };
  const around = currentScope();
  if (around !== undefined) return await runNested(around, nest, use);
  const auto = currentAutoSession();
  if (auto === undefined || !hasScopes()) throw runRequired("withConnections");
  return await auto.enter(async () => await runNested(currentScope()!, nest, use));
}

/** A run that opens another for each use, and ends its sessions afterwards. */
function createEphemeralRun<CONNECTIONS extends Connections>({
  provider,
  principal,
}: Extract<
  CurrentConnectionsOptions<CONNECTIONS>,
  { ephemeral: true }
>): ConnectionRun<CONNECTIONS> {
  const { createUnkept, declaredFor, face } = internalsOf<CONNECTIONS>(provider);
  const lend = async <T>(use: (run: ConnectionRun) => Promise<T>): Promise<T> => {
    const run = createUnkept(principal);
    try {
      return await use(run);
    } finally {
      await run.dispose();
    }
  };
  // At once, so that the caller learns what is wrong with the connections or the principal.
  createUnkept(principal);
  const own = {
    client: async () => refuse("client"),
    fetch: () => refuse("fetch"),
    dispose: async () => undefined,
  };
  return createLentRun(lend, () => declaredFor(principal), own, face);
}

function refuse(method: string): never {
  throw new McpSessionError(
    "CONNECTION_INVALID",
    `${method} outlives a call, and an ephemeral run does not. Use it in run(), or open a run.`,
    { data: { field: "ephemeral" } },
  );
}
