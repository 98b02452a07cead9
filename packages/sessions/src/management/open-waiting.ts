import type { Principal } from "@durable-mcp/core";
import { waitingOutsideStep } from "../http/answer-outside-step.ts";
import type { Tell } from "../events/step-events.ts";
import { recordOwner } from "../records/slot-record.ts";
import { type SessionsContext, waitingSource } from "../sessions/sessions-context.ts";

/**
 * The waiting calls of an agent session and principal, outside of a step.
 *
 * @param by who acts for the principal, for the events and the record
 */
export function openWaiting(
  context: SessionsContext,
  sessionId: string,
  principal: Principal,
  abortSignal?: AbortSignal,
  by?: string,
) {
  const { provider, now, work } = context;
  const tell = by === undefined ? context.tell : tellOf(context, by);
  recordOwner(principal);
  work.throwIfShutDown();
  const { telemetry } = provider;
  const source = { ...waitingSource({ ...context, sessionId }), by };
  const declared = provider.declaredFor(principal);
  const ask: Parameters<typeof waitingOutsideStep>[0]["ask"] = async (connection, ...asked) =>
    await context.inRun!(sessionId, { principal, abortSignal }, async ({ find }) =>
      find(connection).pausing!.ask!(...asked),
    );
  const own = { source, principal, declared, tell, telemetry, now, abortSignal };
  return waitingOutsideStep({ ...own, ...(context.inRun && { ask }) });
}

/** Tells of waiting calls with the name of who acts. */
export function tellOf({ tell }: Pick<SessionsContext, "tell">, by: string): Tell {
  return (event, step) => tell(event.type === "waiting-call" ? { ...event, by } : event, step);
}
