import { invalidOption } from "@durable-mcp/core/internal";
import type { SessionStore } from "@durable-mcp/core";
import { createOpenWork, type OpenWork } from "../base/open-work.ts";
import type { ConnectionEvent } from "../events/connection-event.ts";
import type { Tell } from "../events/step-events.ts";
import type { ConnectionProvider } from "../provider/connection-provider.ts";
import { createConnectionProvider } from "../provider/create-connection-provider.ts";
import { internalsOf, type ProviderInternals } from "../provider/provider-internals.ts";
import { createBoundedStore } from "./bounded-store.ts";
import type { DurableSessionsOptions } from "./durable-sessions.ts";
import { leastIdleMs } from "./slot-record.ts";

/** The context of all methods of durable sessions. */
export interface SessionsContext {
  readonly provider: ProviderInternals<any>;
  /** The provider, if only these sessions use it. */
  readonly ownProvider: ConnectionProvider<any> | undefined;
  /** All its operations settle in bounded time. */
  readonly store: SessionStore;
  /** `null` for sessions that agents share. */
  readonly agent: string | null;
  /** Separates a pool's processes for this store from those for others. */
  readonly namespace: number;
  readonly touchIntervalMs: number;
  /** A session that was used within this time may be in use, in a process whose clock is behind. */
  readonly maybeInUseMs: number;
  readonly tell: Tell;
  readonly now: () => number;
  readonly work: OpenWork;
}

/** The context of one step of an agent session. */
export interface StepContext extends SessionsContext {
  readonly sessionId: string;
  readonly emit: (event: ConnectionEvent) => void;
  /** Ends the step, and its waits for the store before its end. */
  readonly abortSignal: AbortSignal | undefined;
}

/** @throws {McpSessionError} `CONNECTION_INVALID` */
export function createSessionsContext(options: DurableSessionsOptions<any>): SessionsContext {
  const { store, agent, share = false, touchIntervalMs = 60_000, onEvent } = options;
  const { clockSkewMs = 15 * touchIntervalMs, storeTimeoutMs = 15_000 } = options;
  if (agent !== undefined && share) {
    throw invalidOption(
      "agent",
      "cannot be combined with share: shared sessions belong to no agent",
    );
  }
  const ownProvider = createOwnProvider(options);
  const provider = internalsOf(ownProvider ?? options.provider!);
  const { now } = provider;
  return {
    provider,
    ownProvider,
    store: createBoundedStore(store, storeTimeoutMs, now, provider.telemetry),
    agent: share ? null : (agent ?? "default"),
    namespace: provider.createNamespace(),
    touchIntervalMs,
    maybeInUseMs: leastIdleMs(touchIntervalMs) + clockSkewMs,
    tell: onEvent && !ownProvider ? provider.emitTo(onEvent) : provider.emit,
    now,
    work: createOpenWork("The durable sessions were"),
  };
}

function createOwnProvider(
  options: DurableSessionsOptions<any>,
): ConnectionProvider<any> | undefined {
  const { provider, connections, pool, telemetry, closeTimeoutMs, onEvent, now } = options;
  if (provider === undefined) {
    if (connections !== undefined) {
      // The store compares and sets, and the provider carries no state.
      const own = { connections, pool, telemetry, closeTimeoutMs, onEvent, now };
      return createConnectionProvider({ ...own, claim: () => false });
    }
    throw invalidOption("connections", "is missing: give the connections, or a provider");
  }
  const given = { connections, pool, telemetry, closeTimeoutMs, now };
  for (const [option, value] of Object.entries(given)) {
    if (value === undefined) continue;
    const fix = "cannot be combined with provider: give it to createConnectionProvider";
    throw invalidOption(option, fix);
  }
  return undefined;
}
