import { checkMs, invalidOption } from "@durable-mcp/core/internal";
import type { SessionStore } from "@durable-mcp/core";
import { createOpenWork, type OpenWork } from "../base/open-work.ts";
import type { McpConnection } from "../connection/mcp-connection.ts";
import type { ConnectionEvent } from "../events/connection-event.ts";
import type { ConnectionProvider } from "../provider/connection-provider.ts";
import { createConnectionProvider } from "../provider/create-connection-provider.ts";
import { internalsOf, type ProviderInternals } from "../provider/provider-internals.ts";
import type { DurableSessionsOptions, StoredSessionsOptions } from "./durable-sessions.ts";

type Connections = Record<string, McpConnection>;

/** The context of all methods of durable sessions. */
export interface SessionsContext<CONNECTIONS extends Connections> {
  readonly provider: ProviderInternals<CONNECTIONS>;
  /** The provider, if only these sessions use it. */
  readonly ownProvider: ConnectionProvider<CONNECTIONS> | undefined;
  readonly store: SessionStore;
  /** `null` for sessions that agents share. */
  readonly agent: string | null;
  /** Separates a pool's clients for this store from those for others. */
  readonly namespace: number;
  readonly touchIntervalMs: number;
  readonly emit: (event: ConnectionEvent) => void;
  readonly now: () => number;
  readonly work: OpenWork;
}

/** @throws {McpSessionError} `CONNECTION_INVALID` */
export function createSessionsContext<CONNECTIONS extends Connections>(
  options: DurableSessionsOptions<CONNECTIONS>,
): SessionsContext<CONNECTIONS> {
  const { store, agent, share = false, touchIntervalMs = 60_000, onEvent } = options;
  checkStoredOptions({ agent, share, touchIntervalMs });
  const ownProvider = createOwnProvider(options);
  const provider = internalsOf<CONNECTIONS>(ownProvider ?? options.provider!);
  return {
    provider,
    ownProvider,
    store,
    agent: share ? null : (agent ?? "default"),
    namespace: provider.createNamespace(),
    touchIntervalMs,
    emit: onEvent && !ownProvider ? provider.emitTo(onEvent) : provider.emit,
    now: options.now ?? provider.now,
    work: createOpenWork("The durable sessions were"),
  };
}

function createOwnProvider<CONNECTIONS extends Connections>({
  provider,
  connections,
  pool,
  telemetry,
  onEvent,
  now,
}: DurableSessionsOptions<CONNECTIONS>): ConnectionProvider<CONNECTIONS> | undefined {
  if (provider === undefined) {
    if (connections !== undefined) {
      return createConnectionProvider({ connections, pool, telemetry, onEvent, now });
    }
    throw invalidOption("connections", "is missing: give the connections, or a provider");
  }
  for (const [option, value] of Object.entries({ connections, pool, telemetry })) {
    if (value === undefined) continue;
    const fix = "cannot be combined with provider: give it to createConnectionProvider";
    throw invalidOption(option, fix);
  }
  return undefined;
}

function checkStoredOptions({
  agent,
  share,
  touchIntervalMs,
}: Pick<StoredSessionsOptions, "agent" | "share" | "touchIntervalMs">): void {
  if (agent === "") throw invalidOption("agent", "must be a non-empty string");
  if (agent !== undefined && share) {
    throw invalidOption(
      "agent",
      "cannot be combined with share: shared sessions belong to no agent",
    );
  }
  checkMs(touchIntervalMs, "touchIntervalMs");
}
