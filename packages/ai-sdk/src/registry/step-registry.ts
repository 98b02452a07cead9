import {
  createSessionSlot,
  type Principal,
  principalParts,
  type SessionSlot,
} from "@durable-mcp/core";
import type { Track } from "../base/open-work.ts";
import { withClientEvents } from "../connection/client-events.ts";
import { endpointOf } from "../connection/define-connection.ts";
import { forwardConnection } from "../connection/forward-connection.ts";
import type { KeptAs, LiveConnection } from "../connection/live-connection.ts";
import {
  clientConnections,
  type Connections,
  hasSession,
  hasSlot,
} from "../connection/mcp-connection.ts";
import { isPausing, refusePausing, type WaitingSource } from "../waiting/waiting-source.ts";
import { splitConnection } from "../connection/split-connection.ts";
import { openConnection } from "../connection/stdio-connection-options.ts";
import { createStepTime } from "../connection/step-time.ts";
import type { ConnectionEvent } from "../events/connection-event.ts";
import type { ConnectionTelemetry } from "../events/connection-telemetry.ts";
import type { StepEvents } from "../events/step-events.ts";
import { endMcpSession } from "../http/end-mcp-session.ts";
import { createHttpConnection } from "../http/http-connection.ts";
import { mayBeKept, type SessionPool } from "../pool/session-pool.ts";
import { lostSnapshot } from "../slots/kept-session.ts";
import type { NamedSlots } from "../slots/named-slots.ts";
import { type ConnectionUse, ownSlot, refuseShared, type StepSlot } from "../slots/step-slot.ts";
import type { ConnectionRegistry } from "./connection-registry.ts";
import { createNamedConnections } from "./named-connections.ts";
import { createRunScope } from "./nested-run.ts";
import { withSignIn } from "../waiting/sign-in.ts";
import { createRegistryLifetime } from "./registry-lifetime.ts";
import type { Successor } from "./succession.ts";

/** The parts that all registries of one provider share. */
export interface RegistryFactory {
  /** @throws {McpSessionError} `CONNECTION_INVALID` */
  readonly declaredFor: (principal: Principal | undefined) => Connections;
  readonly telemetry: ConnectionTelemetry | undefined;
  readonly now: () => number;
  /** Lets the provider's `shutdown` close something. */
  readonly track: Track;
  /** How long the end of a registry may take, in milliseconds. */
  readonly closeTimeoutMs: number;
}

export interface StepRegistryOptions {
  readonly declared: Connections;
  readonly principal: Principal | undefined;
  /** The step's events, which know the id of the agent session. */
  readonly events: StepEvents;
  readonly abortSignal: AbortSignal | undefined;
  /** The slot of a connection of which something lasts; `undefined` isolates all of them. */
  readonly slotFor?: ((connection: string) => StepSlot) | undefined;
  /** The named sessions, for any principal. */
  readonly named: NamedSlots;
  /** Whether its owner disposes of the registry, instead of a run of it. @default false */
  readonly isLeased?: boolean | undefined;
  /** Keeps the clients for the next run of the agent session. It must have made the slots. */
  readonly pool?: SessionPool | undefined;
  /** Where calls wait for a person. @default nowhere: connections that pause are refused */
  readonly waiting?: WaitingSource | undefined;
  /** What the registry has to do with others in whose place it comes. @default nothing */
  readonly successor?: Successor | undefined;
  /** Saves the slots at the end, while the clients close. Never rejects. @default nothing */
  readonly save?: ((timeoutMs: number) => Promise<void>) | undefined;
}

export function createStepRegistry(
  factory: RegistryFactory,
  options: StepRegistryOptions,
): ConnectionRegistry {
  const { declaredFor, track, closeTimeoutMs } = factory;
  const { declared, principal, slotFor, named, isLeased = false, pool, successor, save } = options;
  const { events, waiting } = options;
  if (!named.keepsShared) refuseShared(declared);
  if (waiting === undefined) refusePausing(declared);
  const step = createStepTime(options.abortSignal);
  const lifetime = createRegistryLifetime({
    step,
    closeTimeoutMs,
    save,
    onEnd: events.end,
    // The lease closes the registry.
    track: isLeased ? () => () => undefined : track,
    onFirstUse(trackInside) {
      if (principal === undefined) return;
      named.beginStep(principal, clientConnections(declared));
      trackInside(async () => named.endStep());
    },
  });
  const parts = { ...factory, events, pool, waiting };
  const memories = new Map<string, SessionSlot>();

  const connections = Object.entries(declared).map(([connection, definition]) => {
    const use = { slot: ownSlot(connection, definition), definition, principal, step };
    const own = { ...use, successor };
    const connected = () => {
      if (!hasSlot(definition)) return connect(parts, own, undefined);
      if (!slotFor) return isolate(parts, own);
      const stepSlot = slotFor(connection);
      if (!hasSession(definition)) memories.set(ownKey(use), stepSlot.slot);
      return connect(parts, use, stepSlot);
    };
    return withSignIn(connected(), { definition, principal, waiting, now: factory.now });
  });
  connections.forEach(lifetime.own);
  // A connection from the pool must return to the pool, used or not.
  if (pool !== undefined) connections.forEach(lifetime.hold);

  const namedConnections = createNamedConnections({
    slots: named,
    connect: (slot, use, stepSlot) =>
      // A session lasts under its name. A process ends with the registry.
      connect(parts, { slot, ...use, step, successor: stepSlot ? undefined : successor }, stepSlot),
    pooledProcesses: (of) => pool?.processes(of) ?? [],
    now: factory.now,
    lifetime,
    giveBack: ({ slot }) => pool?.giveBack(slot),
  });
  for (const connection of connections) {
    const slot = ownSlot(connection.name, declared[connection.name]!);
    if (slot.shared !== undefined) namedConnections.share(slot, principal!, connection);
  }
  return createRunScope(
    {
      declaredFor,
      isolate: (use) => isolate(parts, use, memories.get(ownKey(use))),
      namedSlots: named,
      namedConnections,
    },
    { declared, principal, step, connections, lifetime, isLeased, waiting, now: factory.now },
  ).registry;
}

/** The parts for the connections of a step, and of the runs inside it. */
type ConnectionParts = RegistryFactory & Pick<StepRegistryOptions, "events" | "pool" | "waiting">;

/** A use of a connection whose contents end with the registry. */
type OwnUse = ConnectionUse & Pick<StepRegistryOptions, "successor">;

/** Only the uses of one principal share what is known of a server. */
const ownKey = ({ slot: { connection }, principal }: ConnectionUse) =>
  JSON.stringify([connection, principal && principalParts(principal)]);

/** How a session is found again; a session without a name by its connection alone. */
function keptAsOf({ name, shared }: ConnectionUse["slot"]): KeptAs {
  return { ...(name !== undefined && { name }), ...(shared !== undefined && { shared }) };
}

/** Makes a connection. Starts nothing yet. */
function open(
  { events, telemetry, now, waiting }: ConnectionParts,
  use: OwnUse,
  slot: StepSlot | undefined,
): LiveConnection {
  const { definition, principal, step, successor } = use;
  const { connection } = use.slot;
  const common = {
    context: { principal, connection, abortSignal: step.signal },
    sessionName: use.slot.name ?? use.slot.shared,
    keptAs: keptAsOf(use.slot),
    sessionId: events.step.sessionId,
    isActive: step.isActive,
    now,
    isAfterEnd: successor?.isAfterEnd(use.slot),
    emit(event: ConnectionEvent) {
      if (event.type === "started" || event.type === "recovered") successor?.started(use.slot);
      events.emit({ ...event, ...use.slot });
    },
    countRequest: events.countRequest,
    telemetry,
  };
  return definition.type === "mcp-stdio"
    ? definition[openConnection](common)
    : createHttpConnection({ ...common, ...slot, definition, waiting });
}

/** A connection for one run, and the runs inside it. */
function openAndTell(...[parts, use, slot]: Parameters<typeof open>): LiveConnection {
  return split(parts, use, withClientEvents(open(parts, use, slot)));
}

/** On the agent session's own session, or without one; from the pool, if there is one. */
function connect(parts: ConnectionParts, use: OwnUse, slot: StepSlot | undefined): LiveConnection {
  const { pool, waiting } = parts;
  // What waits in a carried state belongs to this step's copy of it.
  const isOfStep = waiting?.claimLeg !== undefined && isPausing(use.definition);
  if (pool === undefined || isOfStep || !mayBeKept(use.definition)) {
    return openAndTell(parts, use, slot);
  }
  const pooled = pool.connect(use, slot, parts.events, (kept, onSession, events) => {
    // What the pool keeps does not end with the registry.
    const lasting = { ...use, step: kept, successor: undefined };
    return open({ ...parts, events }, lasting, slot && { ...slot, onSession });
  });
  return split(parts, use, pooled);
}

/** Gives a stdio connection the second process of `session.except`. Over HTTP its fetch does that. */
function split(parts: ConnectionParts, use: OwnUse, main: LiveConnection): LiveConnection {
  const { definition } = use;
  if (definition.type !== "mcp-stdio") return main;
  const { except, lossNotice } = definition.options.session ?? {};
  if (except === undefined) return main;
  const slot = { connection: use.slot.connection };
  const aside = open(parts, { ...use, slot, successor: undefined }, undefined);
  return splitConnection(main, aside, except, lossNotice);
}

/**
 * On a session that is ended on its server when the connection is closed.
 *
 * @param memory what is known of the server of a stateless connection; what is learned is not kept
 */
function isolate(parts: ConnectionParts, use: OwnUse, memory?: SessionSlot): LiveConnection {
  const { definition, principal, successor } = use;
  const { connection } = use.slot;
  if (!hasSession(definition)) {
    const own = hasSlot(definition) && { slot: createSessionSlot(memory?.snapshot) };
    return openAndTell(parts, use, own || undefined);
  }
  // Every session has a principal, even if nobody finds it again.
  principalParts(principal);
  const isAfterEnd = successor?.isAfterEnd(use.slot);
  const slot = createSessionSlot(
    isAfterEnd ? lostSnapshot({ url: endpointOf(definition) }) : undefined,
  );
  const isolated = openAndTell(parts, use, { slot });
  return forwardConnection(() => isolated, {
    async endLooseSessions() {
      await isolated.endLooseSessions();
      const { snapshot } = slot;
      if (snapshot?.kind !== "session") return;
      const session = { definition, connection, principal: principal!, snapshot };
      const { now, closeTimeoutMs } = parts;
      // Closing a connection has half the time, so that a server that hangs is reported once.
      const timeoutMs = Math.ceil(0.4 * closeTimeoutMs);
      const outcome = await endMcpSession({ ...session, timeoutMs, now });
      if (outcome.ended) return;
      const { ended: _, ...why } = outcome;
      parts.events.emit({ type: "close-failed", connection, ...why });
    },
  });
}
