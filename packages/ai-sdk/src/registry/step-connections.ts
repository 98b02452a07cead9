import { createSessionSlot, principalParts } from "@durable-mcp/core";
import { forwardConnection } from "../connection/forward-connection.ts";
import type { LiveConnection } from "../connection/live-connection.ts";
import { hasSession } from "../connection/mcp-connection.ts";
import { openConnection } from "../connection/open-connection.ts";
import type { ConnectionEvent } from "../events/connection-event.ts";
import type { ConnectionTelemetry } from "../events/connection-telemetry.ts";
import { endMcpSession } from "../http/end-mcp-session.ts";
import { createHttpConnection } from "../http/http-connection.ts";
import { mayBeKept } from "../pool/may-be-kept.ts";
import type { SessionPool } from "../pool/session-pool.ts";
import type { ConnectionUse, StepSlot } from "../slots/step-slot.ts";

/**
 * How long the server of an isolated session has to end it, in milliseconds. Closing a connection has
 * more time than this, so that a server that hangs is reported once.
 */
const endTimeoutMs = 4_000;

/** Makes the connections of a step, and of the runs inside it. Starts nothing yet. */
export function createStepConnections({
  emit,
  telemetry,
  now,
  pool,
}: {
  emit: (event: ConnectionEvent) => void;
  telemetry: ConnectionTelemetry | undefined;
  now: () => number;
  pool: SessionPool | undefined;
}) {
  const open = (use: ConnectionUse, slot: StepSlot | undefined): LiveConnection => {
    const { definition, principal, step } = use;
    const { connection } = use.slot;
    const common = {
      context: { principal, connection, abortSignal: step.signal },
      isActive: step.isActive,
      emit: (event: ConnectionEvent) => emit({ ...event, ...use.slot }),
      telemetry,
    };
    return definition.type === "mcp-stdio"
      ? definition[openConnection](common)
      : createHttpConnection({ ...common, ...slot, definition, now });
  };

  return {
    /** On the agent session's own session, or without one; from the pool, if there is one. */
    connect(use: ConnectionUse, slot: StepSlot | undefined): LiveConnection {
      if (pool === undefined || !mayBeKept(use.definition)) return open(use, slot);
      return pool.connect(use, slot, (kept, onSession) =>
        open({ ...use, step: kept }, slot && { ...slot, onSession }),
      );
    },

    /** On a session that is ended on its server when the connection is closed. */
    isolate(use: ConnectionUse): LiveConnection {
      const { definition, principal } = use;
      const { connection } = use.slot;
      if (!hasSession(definition)) return open(use, undefined);
      // Every session has a principal, even if nobody finds it again.
      principalParts(principal);
      const slot = createSessionSlot();
      const isolated = open(use, { slot });
      return forwardConnection(() => isolated, {
        async endLooseSessions() {
          await isolated.endLooseSessions();
          const { snapshot } = slot;
          if (snapshot?.kind !== "session") return;
          const outcome = await endMcpSession({
            definition,
            connection,
            principal: principal!,
            snapshot,
            timeoutMs: endTimeoutMs,
            now,
          });
          if (outcome.ended) return;
          const { ended: _, ...why } = outcome;
          emit({ type: "close-failed", connection, ...why });
        },
      });
    },
  };
}

export type StepConnections = ReturnType<typeof createStepConnections>;
