import { createSessionSlot, principalParts, type SessionSlot } from "@durable-mcp/core";
import { endpointOf } from "../declare/define-connection.ts";
import type { ConnectionStep, KeptAs, LiveConnection } from "../connection/live-connection.ts";
import { hasSession, hasSlot } from "../declare/mcp-connection.ts";
import { splitConnection } from "../connection/split-connection.ts";
import { openConnection } from "../declare/stdio-connection-options.ts";
import { withSignIn } from "../waiting/sign-in.ts";
import type { WaitingSource } from "../waiting/waiting-source.ts";
import type { ConnectionEvent } from "../events/connection-event.ts";
import type { ConnectionTelemetry } from "../events/connection-telemetry.ts";
import type { StepEvents } from "../events/step-events.ts";
import { createHttpConnection } from "../http/http-connection.ts";
import type { SessionPool } from "./process-pool.ts";
import { lostSnapshot } from "../records/kept-session.ts";
import type { ConnectionUse, StepSlot } from "../records/step-slot.ts";
import type { Successor } from "./auto-session.ts";

/** The parts for the connections of a step, and of the runs inside it. */
interface ConnectionParts {
  /** The step's events, which know the id of the agent session. */
  readonly events: StepEvents;
  /** Keeps the stdio servers for the next run of the agent session. */
  readonly pool?: SessionPool | undefined;
  readonly waiting?: WaitingSource | undefined;
  readonly telemetry: ConnectionTelemetry | undefined;
  readonly now: () => number;
  /** How long the end of a run may take, in milliseconds. */
  readonly closeTimeoutMs: number;
}

/** A use of a connection whose contents end with the run. */
interface OwnUse extends ConnectionUse {
  readonly successor?: Successor | undefined;
}

/** How a session is found again; a session without a name by its connection alone. */
function keptAsOf({ name, shared }: ConnectionUse["slot"]): KeptAs {
  return { ...(name !== undefined && { name }), ...(shared !== undefined && { shared }) };
}

/** Makes a connection. Starts nothing yet. */
function open(
  { events, telemetry, now, waiting }: ConnectionParts,
  use: OwnUse,
  slot: StepSlot | undefined,
  secrets?: LiveConnection["secrets"],
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
    ...{ telemetry, secrets },
  };
  const opened =
    definition.type === "mcp-stdio"
      ? (definition[openConnection](common satisfies ConnectionStep) as LiveConnection)
      : createHttpConnection({ ...common, ...slot, definition, waiting });
  return withSignIn(opened, { definition, principal, waiting, now });
}

/** On the agent session's own session, or without one; a stdio server from the pool, if there is one. */
export function connect(
  parts: ConnectionParts,
  use: OwnUse,
  slot: StepSlot | undefined,
): LiveConnection {
  const { pool, events } = parts;
  const { type, options } = use.definition;
  const isKept = pool !== undefined && type === "mcp-stdio" && options.reuse !== false;
  if (!isKept) return split(parts, use, open(parts, use, slot));
  const kept = pool.connect(use, events, (time, own) =>
    // What the pool keeps does not end with the run.
    open({ ...parts, events: own }, { ...use, step: time, successor: undefined }, undefined),
  );
  return split(parts, use, kept);
}

/** Gives a stdio connection the second process of `session.except`. Over HTTP its fetch does that. */
function split(parts: ConnectionParts, use: OwnUse, main: LiveConnection): LiveConnection {
  const { definition } = use;
  if (definition.type !== "mcp-stdio") return main;
  const { except, lossNotice } = definition.options.session ?? {};
  if (except === undefined) return main;
  const slot = { connection: use.slot.connection };
  const aside = open(parts, { ...use, slot, successor: undefined }, undefined, main.secrets);
  return splitConnection(main, aside, except, lossNotice);
}

/**
 * On a session that is ended on its server when the connection is closed.
 *
 * @param memory what is known of the server of a stateless connection; what is learned is not kept
 */
export function isolate(parts: ConnectionParts, use: OwnUse, memory?: SessionSlot): LiveConnection {
  const { definition, principal, successor } = use;
  const { connection } = use.slot;
  if (!hasSession(definition)) {
    const own = hasSlot(definition) && { slot: createSessionSlot(memory?.snapshot) };
    return split(parts, use, open(parts, use, own || undefined));
  }
  // Every session has a principal, even if nobody finds it again.
  principalParts(principal);
  const isAfterEnd = successor?.isAfterEnd(use.slot);
  const slot = createSessionSlot(
    isAfterEnd ? lostSnapshot({ url: endpointOf(definition) }) : undefined,
  );
  const isolated = open(parts, use, { slot });
  return {
    ...isolated,
    async endLooseSessions() {
      await isolated.endLooseSessions();
      const { snapshot } = slot;
      if (snapshot?.kind !== "session") return;
      const session = { definition, connection, principal: principal!, snapshot };
      const { now, closeTimeoutMs } = parts;
      // Closing a connection has half the time, so that a server that hangs is reported once.
      const timeoutMs = Math.ceil(0.4 * closeTimeoutMs);
      const { endMcpSession } = await import("../connection/end-mcp-session.ts");
      const outcome = await endMcpSession({ ...session, timeoutMs, now });
      if (outcome.ended) return;
      const { ended: _, ...why } = outcome;
      parts.events.emit({ type: "close-failed", connection, ...why });
    },
  };
}
