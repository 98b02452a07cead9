import type { Principal } from "@durable-mcp/core";
import { waitingOutsideStep } from "../http/answer-outside-step.ts";
import { recordOwner } from "../records/slot-record.ts";
import { type SessionsContext, waitingSource } from "./sessions-context.ts";

/** The waiting calls of an agent session and principal, outside of a step. */
export function openWaiting(
  context: SessionsContext,
  sessionId: string,
  principal: Principal,
  abortSignal?: AbortSignal,
) {
  const { provider, tell, now, work } = context;
  recordOwner(principal);
  work.throwIfShutDown();
  const { telemetry } = provider;
  const source = waitingSource({ ...context, sessionId });
  const declared = provider.declaredFor(principal);
  return waitingOutsideStep({ source, principal, declared, tell, telemetry, now, abortSignal });
}
