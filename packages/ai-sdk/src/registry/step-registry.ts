import type { Principal } from "@durable-mcp/core";
import type { Track } from "../base/open-work.ts";
import { clientConnections, type Connections, hasSession } from "../connection/mcp-connection.ts";
import { createStepTime } from "../connection/step-time.ts";
import type { ConnectionEvent } from "../events/connection-event.ts";
import type { ConnectionTelemetry } from "../events/connection-telemetry.ts";
import type { SessionPool } from "../pool/session-pool.ts";
import type { NamedSlots } from "../slots/named-slots.ts";
import type { StepSlot } from "../slots/step-slot.ts";
import type { ConnectionRegistry } from "./connection-registry.ts";
import { createNamedConnections } from "./named-connections.ts";
import { createRunScope } from "./nested-run.ts";
import { createRegistryLifetime } from "./registry-lifetime.ts";
import { createStepConnections } from "./step-connections.ts";

/** The parts that all registries of one provider share. */
export interface RegistryFactory {
  /** @throws {McpSessionError} `CONNECTION_INVALID` */
  readonly declaredFor: (principal: Principal | undefined) => Connections;
  readonly emit: (event: ConnectionEvent) => void;
  readonly telemetry: ConnectionTelemetry | undefined;
  readonly now: () => number;
  /** Lets the provider's `shutdown` close something. */
  readonly track: Track;
}

export interface StepRegistryOptions {
  readonly declared: Connections;
  readonly principal: Principal | undefined;
  readonly abortSignal: AbortSignal | undefined;
  /** The slot of a stateful connection; `undefined` isolates all of them. */
  readonly slotFor?: ((connection: string) => StepSlot) | undefined;
  /** The named sessions, for any principal. */
  readonly named: NamedSlots;
  /** Whether its owner disposes of the registry, instead of a run of it. @default false */
  readonly isLeased?: boolean | undefined;
  /** Keeps the clients for the next run of the agent session. It must have made the slots. */
  readonly pool?: SessionPool | undefined;
}

/** Creates the registry of a step. */
export function createStepRegistry(
  { declaredFor, emit, telemetry, now, track }: RegistryFactory,
  options: StepRegistryOptions,
): ConnectionRegistry {
  const { declared, principal, slotFor, named, isLeased = false, pool } = options;
  const step = createStepTime(options.abortSignal);
  const lifetime = createRegistryLifetime({
    step,
    emit,
    // The lease closes the registry.
    track: isLeased ? () => () => undefined : track,
    onFirstUse(trackInside) {
      if (principal === undefined) return;
      named.endIdle(principal, clientConnections(declared));
      trackInside(() => named.endStep());
    },
  });
  const make = createStepConnections({ emit, telemetry, now, pool });

  const connections = Object.entries(declared).map(([connection, definition]) => {
    const use = { slot: { connection }, definition, principal, step };
    if (!hasSession(definition)) return make.connect(use, undefined);
    return slotFor ? make.connect(use, slotFor(connection)) : make.isolate(use);
  });
  connections.forEach(lifetime.own);
  // A connection from the pool must return to the pool, used or not.
  if (pool !== undefined) connections.forEach(lifetime.hold);

  const namedConnections = createNamedConnections({
    slots: named,
    connect: ({ connection, name }, use, stepSlot) =>
      make.connect({ slot: { connection, name }, ...use, step }, stepSlot),
    lifetime,
    giveBack: ({ slot }) => pool?.giveBack(slot),
    emit,
  });
  const { registry } = createRunScope(
    { declaredFor, make, namedSlots: named, namedConnections },
    { declared, principal, step, connections, lifetime, isLeased, emit },
  );
  return registry;
}
