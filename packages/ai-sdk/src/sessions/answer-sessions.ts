import type { Principal } from "@durable-mcp/core";
import { checkOptions } from "../base/check-options.ts";
import { waitingOutsideStep } from "../http/answer-outside-step.ts";
import { answerUseSchema, waitingUseSchema } from "./option-schemas.ts";
import type { SessionsContext } from "./sessions-context.ts";
import { checkSessionId, recordOwner } from "./slot-record.ts";
import type { WaitingSessions } from "./waiting-sessions.ts";

/** The uses of stored waiting calls outside of a step. */
export function createSessionsAnswers(context: SessionsContext): WaitingSessions {
  const { provider, store, agent, tell, now, work } = context;
  const { telemetry, closeTimeoutMs, declaredFor } = provider;
  const open = (sessionId: string, principal: Principal, abortSignal?: AbortSignal) => {
    checkSessionId(sessionId);
    recordOwner(principal);
    work.throwIfShutDown();
    const source = { store, agent, sessionId, closeTimeoutMs };
    const declared = declaredFor(principal);
    return waitingOutsideStep({ source, principal, declared, tell, telemetry, now, abortSignal });
  };
  return {
    async waiting(sessionId, use) {
      const { principal } = checkOptions(waitingUseSchema, use);
      return await open(sessionId, principal).list();
    },
    async answer(sessionId, id, responses, use) {
      const { principal, ...options } = checkOptions(answerUseSchema, use);
      return await open(sessionId, principal, options.abortSignal).answer(id, responses, options);
    },
    async withdraw(sessionId, id, use) {
      const { principal } = checkOptions(waitingUseSchema, use);
      return await open(sessionId, principal).withdraw(id);
    },
  };
}
