import { createSessionSlot, type Principal, principalParts } from "@durable-mcp/core";
import type { ConnectionContext } from "../connection/connection-options.ts";
import { forwardConnection } from "../connection/forward-connection.ts";
import type { LiveConnection } from "../connection/live-connection.ts";
import { hasSession, type McpConnection } from "../connection/mcp-connection.ts";
import { openConnection } from "../connection/open-connection.ts";
import type { StepTime } from "../connection/step-time.ts";
import type { ConnectionEvent } from "../events/connection-event.ts";
import type { ConnectionTelemetry } from "../events/connection-telemetry.ts";
import { endMcpSession } from "../http/end-mcp-session.ts";
import { createHttpConnection } from "../http/http-connection.ts";
import { mayBeKept } from "../pool/may-be-kept.ts";
import type { SessionPool } from "../pool/session-pool.ts";
import type { StepSlot } from "../slots/step-slot.ts";

/**
 * How long the server of an isolated session has to end it, in milliseconds: less than closing a
 * connection takes at most, so that a server that hangs is reported once.
 */
const endTimeoutMs = 4_000;

/** What is connected, for whom, and for how long. */
export interface ConnectionUse {
  readonly connection: string;
  /** The name of a named session. */
  readonly name?: string | undefined;
  readonly definition: McpConnection;
  readonly principal: Principal | undefined;
  readonly step: StepTime;
}

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
    const { connection, name, definition, principal, step } = use;
    const context: ConnectionContext = { principal, connection, abortSignal: step.signal };
    const common = {
      context,
      isActive: step.isActive,
      emit: name === undefined ? emit : (event: ConnectionEvent) => emit({ ...event, name }),
      telemetry,
    };
    return definition.type === "mcp-stdio"
      ? definition[openConnection](common)
      : createHttpConnection({ ...common, ...slot, definition, now });
  };

  return {
    /** On the agent session's own session, or without one; from the pool, if there is one. */
    connect(use: ConnectionUse, slot: StepSlot | undefined): LiveConnection {
      const { connection, name, principal, definition, step } = use;
      if (pool === undefined || !mayBeKept(definition)) return open(use, slot);
      return pool.connect({
        slot: { connection, ...(name !== undefined && { name }) },
        principal,
        definition,
        session: slot?.slot,
        onSession: slot?.onSession,
        runSignal: step.signal,
        make: (kept, onSession) => open({ ...use, step: kept }, slot && { ...slot, onSession }),
      });
    },

    /** On a session that is ended on its server when the connection is closed. */
    isolate(use: ConnectionUse): LiveConnection {
      const { connection, definition, principal } = use;
      if (!hasSession(definition)) return open(use, undefined);
      // A session is always somebody's, also one that nobody finds again.
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
