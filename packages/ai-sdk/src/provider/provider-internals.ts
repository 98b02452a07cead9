import type { Principal } from "@durable-mcp/core";
import type { Track } from "../base/open-work.ts";
import type { ConnectionEvent } from "../events/connection-event.ts";
import type { SessionPool } from "../pool/session-pool.ts";
import type { StepRegistryOptions } from "../registry/step-registry.ts";
import type { ConnectionRegistry } from "../registry/connection-registry.ts";
import type { McpConnection } from "../connection/mcp-connection.ts";

/** The functions that the parts of a provider share with durable sessions on it. */
export interface ProviderInternals<CONNECTIONS extends Record<string, McpConnection>> {
  /** @throws {McpSessionError} `CONNECTION_INVALID` */
  readonly declaredFor: (principal: Principal | undefined) => CONNECTIONS;
  /** A registry on slots, wherever they come from. */
  readonly createRegistry: (
    options: Pick<
      StepRegistryOptions,
      "principal" | "abortSignal" | "slotFor" | "named" | "isLeased" | "pool"
    > & { declared: CONNECTIONS },
  ) => ConnectionRegistry<CONNECTIONS>;
  /**
   * The pool that the runs of one agent session share, named by these parts; `undefined` without a pool.
   */
  readonly poolFor: (scope: readonly unknown[]) => SessionPool | undefined;
  /** A part of a scope that separates the sessions of one store from those of others. */
  readonly createNamespace: () => number;
  /** Lets the provider's `shutdown` close something. */
  readonly track: Track;
  readonly emit: (event: ConnectionEvent) => void;
  /** An `emit` that calls this `onEvent` instead of the provider's. */
  readonly emitTo: (onEvent: (event: ConnectionEvent) => void) => (event: ConnectionEvent) => void;
  readonly now: () => number;
}

const internals = new WeakMap<object, ProviderInternals<any>>();

export function registerInternals<CONNECTIONS extends Record<string, McpConnection>>(
  provider: object,
  ofProvider: ProviderInternals<CONNECTIONS>,
): void {
  internals.set(provider, ofProvider);
}

export function internalsOf<CONNECTIONS extends Record<string, McpConnection>>(
  provider: object,
): ProviderInternals<CONNECTIONS> {
  const found = internals.get(provider);
  if (found !== undefined) return found;
  throw new TypeError(
    "provider must come from createConnectionProvider of this copy of @durable-mcp/ai-sdk.",
  );
}
