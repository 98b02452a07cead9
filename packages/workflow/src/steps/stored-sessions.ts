import {
  type ConnectionEvent,
  type McpClientConnection,
  McpSessionError,
} from "@durable-mcp/sessions";
import { createDurableSessions } from "@durable-mcp/sessions";
import type { SessionStore, StoredValue } from "@durable-mcp/core";
import { waitingKeys } from "@durable-mcp/core/internal";
import { forCalls } from "./declared-connections.ts";
import {
  exceptTold,
  type StepConnection,
  type StepSessions,
  type UseRun,
  watchEvents,
} from "./step-sessions.ts";

/** Keeps sessions in a store; the event log has nothing of them. */
export function createStoredSessions({
  store,
  agent,
  emit,
  now,
}: {
  store: SessionStore;
  agent: string | undefined;
  emit: (event: ConnectionEvent) => void;
  now: () => number;
}): StepSessions {
  const sessionsOf = (
    connection: string,
    definition: McpClientConnection,
    onEvent: (event: ConnectionEvent) => void,
    inStore = store,
  ) => {
    const connections = { [connection]: definition };
    return createDurableSessions({
      connections,
      store: inStore,
      agent,
      now,
      onEvent: { every: onEvent },
    });
  };
  const run = async <T>(
    { connection, principal, ...step }: StepConnection,
    definition: McpClientConnection,
    use: UseRun<T>,
    { inStore = store, tell = emit } = {},
  ) => {
    const { seen, onEvent } = watchEvents(tell);
    const sessions = sessionsOf(connection, definition, onEvent, inStore);
    return await sessions.run(requireSessionId(step), { principal }, async (own) => ({
      result: await use(own, seen),
      // The record has that mark, and the next call that reads it tells the model.
      isReplacement: false,
    }));
  };

  return {
    keepsCalls: true,
    open: (step, use) => run(step, step.definition, use),
    async call(step, use, { tellLoss, hasSession }) {
      const loads = storeForCall(store, { tellLoss, hasSession });
      try {
        const used = await run(step, forCalls(step.definition), use, {
          inStore: loads.store,
          tell: exceptTold(emit),
        });
        return { ...used, sealCalls: async () => undefined };
      } catch (error) {
        // Another step lost the session or ended it. The workflow opens the next one.
        if (loads.hasRefused()) return undefined;
        throw error;
      }
    },

    async end({ connection, definition, principal, ...step }) {
      await sessionsOf(connection, definition, emit).end(requireSessionId(step), {
        principal,
        connection,
      });
    },
  };
}

/**
 * The store for one call. A lost or ended session cannot be loaded from it, because the step would begin
 * another one. If the call has to tell the model of a loss, the session is loaded as a replacement.
 */
function storeForCall(
  store: SessionStore,
  { tellLoss, hasSession }: { tellLoss: boolean; hasSession: boolean },
): { store: SessionStore; hasRefused: () => boolean } {
  let hasRefused = false;
  const get: SessionStore["get"] = async (key) => {
    const stored = await store.get(key);
    const { snapshot } = (stored?.value ?? {}) as { snapshot?: { kind?: unknown; lost?: unknown } };
    const isGone = stored === undefined ? hasSession : snapshot?.lost !== undefined;
    if (isGone && waitingKeys.parse(key) === undefined) {
      hasRefused = true;
      throw new McpSessionError("SESSION_LOST", "The stored session was lost or ended.");
    }
    if (stored === undefined || !tellLoss || snapshot?.kind !== "session") return stored;
    const value = { ...(stored.value as object), snapshot: { ...snapshot, replacesLost: true } };
    return { ...stored, value: value as StoredValue["value"] };
  };
  return {
    store: {
      encrypted: store.encrypted,
      maxBytes: store.maxBytes,
      get,
      put: (...args) => store.put(...args),
      delete: (...args) => store.delete(...args),
      touch: (...args) => store.touch(...args),
      list: (...args) => store.list(...args),
    },
    hasRefused: () => hasRefused,
  };
}

function requireSessionId({ sessionId }: Pick<StepConnection, "sessionId">): string {
  if (sessionId !== undefined) return sessionId;
  throw new McpSessionError(
    "CONNECTION_INVALID",
    "sessionId is missing. With a store, pass openDurableConnections the id of the agent session, such as a chat.",
    { data: { field: "sessionId" } },
  );
}
