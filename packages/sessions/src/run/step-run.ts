import { type Principal, principalParts, type SessionSlot } from "@durable-mcp/core";
import { loadedLater } from "../base/loaded-later.ts";
import { once } from "../base/once.ts";
import type { Track } from "../base/open-work.ts";
import {
  clientConnections,
  type Connections,
  hasSession,
  hasSlot,
} from "../declare/mcp-connection.ts";
import { refusePausing, type WaitingSource } from "../waiting/waiting-source.ts";
import { createStepTime } from "../connection/step-time.ts";
import type { ConnectionTelemetry } from "../events/connection-telemetry.ts";
import type { StepEvents } from "../events/step-events.ts";
import type { SessionPool } from "./process-pool.ts";
import type { NamedSlots } from "../records/named-slots.ts";
import { type ConnectionUse, ownSlot, refuseShared, type StepSlot } from "../records/step-slot.ts";
import type { Successor } from "./auto-session.ts";
import type { ConnectionRun } from "./connection-run.ts";
import { createRun, type RunParts } from "./create-run.ts";
import type { StepParts } from "./nested-run.ts";
import type { RunScope } from "./run-scope.ts";
import { connect, isolate } from "./open-connections.ts";
import { connectLater } from "../connection/run-connection.ts";
import { createRunLifetime } from "./run-lifetime.ts";
import type { ToolFace } from "./tool-face.ts";

/** The parts that all runs of one provider share. */
export interface RunFactory {
  /** @throws {McpSessionError} `CONNECTION_INVALID` */
  readonly declaredFor: (principal: Principal | undefined) => Connections;
  readonly telemetry: ConnectionTelemetry | undefined;
  readonly now: () => number;
  /** Lets the provider's `shutdown` close something. */
  readonly track: Track;
  /** How long the end of a run may take, in milliseconds. */
  readonly closeTimeoutMs: number;
  /** What a framework's package makes of the runs. @default nothing */
  readonly face?: ToolFace | undefined;
}

export interface StepRunOptions {
  readonly declared: Connections;
  readonly principal: Principal | undefined;
  /** The step's events, which know the id of the agent session. */
  readonly events: StepEvents;
  readonly abortSignal: AbortSignal | undefined;
  /** The slot of a connection that keeps a session or a memory; `undefined` isolates all of them. */
  readonly slotFor?: ((connection: string) => StepSlot) | undefined;
  /** The named sessions, for any principal. */
  readonly named: NamedSlots;
  /** Whether its owner disposes of the run, instead of those who enter it. @default false */
  readonly hasOwner?: boolean | undefined;
  /** Keeps the stdio servers for the next run of the agent session. */
  readonly pool?: SessionPool | undefined;
  /** Where calls wait. @default nowhere: connections that pause are refused */
  readonly waiting?: WaitingSource | undefined;
  /** What the run has to do with others in whose place it comes. @default nothing */
  readonly successor?: Successor | undefined;
  /** Saves the slots at the end, while the clients close. Never rejects. @default nothing */
  readonly save?: ((timeoutMs: number) => Promise<void>) | undefined;
  /** Ends what lasts as long as the step. Never rejects. @default nothing */
  readonly finish?: ((isFailed: boolean) => Promise<void>) | undefined;
}

export function createStepRun(factory: RunFactory, options: StepRunOptions): ConnectionRun {
  const { declaredFor, track, closeTimeoutMs } = factory;
  const { declared, principal, slotFor, named, hasOwner = false, pool, successor, save } = options;
  const { events, waiting, finish } = options;
  if (!named.keepsShared) refuseShared(declared);
  if (waiting === undefined) refusePausing(declared);
  const step = createStepTime(options.abortSignal);
  const lifetime = createRunLifetime({
    step,
    closeTimeoutMs,
    ...{ save, finish },
    onEnd: events.end,
    // Its owner closes it.
    track: hasOwner ? () => () => undefined : track,
    onFirstUse(trackInside) {
      if (principal === undefined) return;
      named.beginStep(principal, clientConnections(declared));
      trackInside(async () => named.endStep());
    },
  });
  const parts = { ...factory, events, pool, waiting };
  const memories = new Map<string, SessionSlot>();

  const connections = Object.entries(declared).map(([connection, definition]) => {
    // Every session has a principal, even if nobody finds it again.
    if (slotFor === undefined && hasSession(definition)) principalParts(principal);
    const make = () => {
      const use = { slot: ownSlot(connection, definition), definition, principal, step };
      const own = { ...use, successor };
      if (!hasSlot(definition)) return connect(parts, own, undefined);
      if (!slotFor) return isolate(parts, own);
      const stepSlot = slotFor(connection);
      if (!hasSession(definition)) memories.set(ownKey(use), stepSlot.slot);
      return connect(parts, use, stepSlot);
    };
    const connected = connectLater(connection, definition, () => {
      const live = make();
      lifetime.own(live);
      return live;
    });
    // A process from the pool must return to the pool, used or not.
    if (pool !== undefined && definition.type === "mcp-stdio") lifetime.hold(connected.live());
    return connected;
  });

  const namedConnections = once(async () => {
    const { createNamedConnections } = await import("./named-connections.ts");
    const live = createNamedConnections({
      slots: named,
      connect: (slot, use, stepSlot) => {
        // A session lasts under its name. A process ends with the run.
        const own = { slot, ...use, step, successor: stepSlot ? undefined : successor };
        return connect(parts, own, stepSlot);
      },
      pooledProcesses: (of) => pool?.processes(of) ?? [],
      now: factory.now,
      lifetime,
    });
    for (const connection of connections) {
      const slot = ownSlot(connection.name, connection.definition);
      if (slot.shared !== undefined) live.share(slot, principal!, connection.live());
    }
    return live;
  });
  return createRunScope(
    {
      declaredFor,
      isolate(use) {
        const { definition, slot } = use;
        // What this run's own connection begins with, it begins with.
        if (hasSlot(definition) && !hasSession(definition))
          connections.find(({ name }) => name === slot.connection)?.live();
        return isolate(parts, use, memories.get(ownKey(use)));
      },
      namedSlots: named,
      namedConnections,
    },
    { ...factory, declared, principal, step, connections, lifetime, hasOwner, waiting },
  ).run;
}

/** Makes a run, in which other runs can be nested. Few steps nest or name: that code is loaded then. */
function createRunScope(parts: StepParts, run: RunParts): RunScope {
  const nest: RunScope["nest"] = async (options) => {
    const { createNestedRun } = await import("./nested-run.ts");
    return createRunScope(parts, await createNestedRun(parts, run, options));
  };
  const { namedSlots: slots, namedConnections } = parts;
  const named = loadedLater(["create", "find", "list", "run", "end"], async () => {
    const { createNamedSessions } = await import("./named-sessions.ts");
    return createNamedSessions({ ...run, slots, live: await namedConnections(), nest });
  });
  return createRun(run, { named, nest });
}

/** Only the uses of one principal share what is known of a server. */
const ownKey = ({ slot: { connection }, principal }: ConnectionUse) =>
  JSON.stringify([connection, principal && principalParts(principal)]);
