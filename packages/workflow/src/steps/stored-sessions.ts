import {
  type ConnectionEvent,
  createConnectionProvider,
  createDurableSessions,
  type DurableSessionEvent,
  type McpClientConnection,
  McpSessionError,
} from "@durable-mcp/ai-sdk";
import type { SessionStore } from "@durable-mcp/core";
import { withoutRecovery } from "./declared-connections.ts";
import {
  type StepConnection,
  type StepSessions,
  type UseRegistry,
  watchEvents,
} from "./step-sessions.ts";

/** Sessions that a store keeps, so that nothing of them is in the event log. */
export function createStoredSessions({
  store,
  agent,
  emit,
  emitStored,
  now,
}: {
  store: SessionStore;
  agent: string | undefined;
  emit: (event: ConnectionEvent) => void;
  emitStored: ((event: DurableSessionEvent) => void) | undefined;
  now: () => number;
}): StepSessions {
  const sessionsOf = (
    connection: string,
    definition: McpClientConnection,
    onEvent: (event: ConnectionEvent) => void,
  ) => {
    const connections = { [connection]: definition };
    const provider = createConnectionProvider({ connections, onEvent, now });
    return createDurableSessions({ provider, store, agent, onEvent: emitStored, now });
  };
  const run = async <T>(
    { connection, principal, ...step }: StepConnection,
    definition: McpClientConnection,
    use: UseRegistry<T>,
  ) => {
    const { seen, onEvent } = watchEvents(emit);
    const sessions = sessionsOf(connection, definition, onEvent);
    return await sessions.run(requireSessionId(step), { principal }, async ({ registry }) => ({
      result: await use(registry, seen),
      // The record says so, and the next call that reads it tells the model.
      isReplacement: false,
    }));
  };

  return {
    open: (step, use) => run(step, step.definition, use),
    call: (step, use) => run(step, withoutRecovery(step.definition), use),

    async end({ connection, definition, principal, ...step }) {
      await sessionsOf(connection, definition, emit).end(requireSessionId(step), {
        principal,
        connection,
      });
    },
  };
}

function requireSessionId({ sessionId }: Pick<StepConnection, "sessionId">): string {
  if (sessionId !== undefined) return sessionId;
  throw new McpSessionError(
    "CONNECTION_INVALID",
    "sessionId is missing: with a store, durableConnections needs the agent session that the sessions are of.",
    { data: { field: "sessionId" } },
  );
}
