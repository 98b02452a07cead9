import { once } from "../base/once.ts";
import { clientConnections, type McpConnection } from "../connection/mcp-connection.ts";
import type { SessionPool } from "../pool/session-pool.ts";
import type { ConnectionRegistry, SessionTools } from "../registry/connection-registry.ts";
import { runToEndOfStream } from "../streams/run-to-end-of-stream.ts";
import type { SessionUse } from "./durable-sessions.ts";
import { createSessionLease, type SessionLease } from "./session-lease.ts";
import { checkSessionId, recordOwner } from "./slot-record.ts";
import type { SessionsContext } from "./sessions-context.ts";
import { loadStepSlots, type StepSlots } from "./stored-slots.ts";

type Connections = Record<string, McpConnection>;

/** Loads an agent session's MCP sessions and connects their tools. */
export async function openSession<CONNECTIONS extends Connections>(
  context: SessionsContext<CONNECTIONS>,
  sessionId: string,
  { principal, abortSignal }: SessionUse,
): Promise<SessionLease<CONNECTIONS>> {
  checkSessionId(sessionId);
  recordOwner(principal);
  abortSignal?.throwIfAborted();
  context.work.throwIfShutDown();
  const { slots, registry } = await loadRegistry(context, sessionId, { principal, abortSignal });
  const close = once(async () => {
    await registry.dispose();
    await slots.close();
    for (const forget of tracked) forget();
  });
  const tracked = [context.provider.track(close), context.work.track(close)];
  try {
    const tools = await registry.tools();
    slots.throwIfNotSaved();
    return createSessionLease({ sessionId, registry, tools, abortSignal, close });
  } catch (error) {
    await close();
    throw error;
  }
}

async function loadRegistry<CONNECTIONS extends Connections>(
  context: SessionsContext<CONNECTIONS>,
  sessionId: string,
  { principal, abortSignal }: SessionUse,
): Promise<{ slots: StepSlots; registry: ConnectionRegistry<CONNECTIONS> }> {
  const { provider, namespace, agent } = context;
  const declared = provider.declaredFor(principal);
  const pool: SessionPool | undefined = provider.poolFor([namespace, agent, sessionId]);
  try {
    const slots = await loadStepSlots({
      ...context,
      sessionId,
      principal,
      declared: clientConnections(declared),
      pool,
    });
    try {
      context.work.throwIfShutDown();
      const registry = provider.createRegistry({
        declared,
        principal,
        abortSignal,
        slotFor: slots.of,
        named: slots.named,
        isLeased: true,
        pool,
      });
      return { slots, registry };
    } catch (error) {
      // The provider may have been shut down meanwhile.
      await slots.close();
      throw error;
    }
  } finally {
    pool?.giveBack();
  }
}

/** Runs a step on an open session, and closes it after success and after failure. */
export async function runOnLease<CONNECTIONS extends Connections, T>(
  lease: SessionLease<CONNECTIONS>,
  abortSignal: AbortSignal | undefined,
  step: (session: SessionTools<CONNECTIONS>) => T | PromiseLike<T>,
): Promise<T> {
  const { tools, registry } = lease;
  // Later, because the calls under way are cancelled first, and a closed client cannot do that.
  const closeEarly = () => queueMicrotask(() => void registry.dispose());
  const run = async (inRun: () => Promise<void>) => {
    abortSignal?.addEventListener("abort", closeEarly, { once: true });
    try {
      await registry.run(inRun);
    } finally {
      abortSignal?.removeEventListener("abort", closeEarly);
      await lease.dispose();
    }
  };
  return await runToEndOfStream({ run, step: () => step({ tools, registry }), abortSignal });
}
