import type { Principal } from "@durable-mcp/core";
import type { WaitingCall } from "@durable-mcp/core/waiting";
import { checkOptions } from "../base/check-options.ts";
import { waitingOutsideStep } from "../http/answer-outside-step.ts";
import { createStateStore, waitingSource } from "./state-store.ts";
import type { CarriedWaiting } from "./carried-waiting.ts";
import { carriedAnswerSchema, carriedUseSchema } from "./provider-option-schemas.ts";
import type { ProviderInternals } from "./provider-internals.ts";

export function createCarriedWaiting(internals: ProviderInternals<any>): CarriedWaiting {
  const { claim, closeTimeoutMs, declaredFor, emit: tell, telemetry, now, work } = internals;
  const open = (
    session: { readonly state?: unknown },
    principal: Principal,
    abortSignal?: AbortSignal,
  ) => {
    work.throwIfShutDown();
    const declared = declaredFor(principal);
    const kept = createStateStore(session.state);
    const source = waitingSource(kept, { claimLeg: claim, closeTimeoutMs });
    const use = { source, principal, declared, tell, telemetry, now, abortSignal };
    const calls = waitingOutsideStep(use);
    return {
      calls,
      changed: <SESSION extends { state?: unknown }>(of: SESSION) => kept.commit(of),
    };
  };
  return {
    async waiting(session, use) {
      const { principal } = checkOptions(carriedUseSchema, use);
      return await open(session, principal).calls.list();
    },
    async answer(session, id, responses, use) {
      const { principal, onSession, ...options } = checkOptions(carriedAnswerSchema, use);
      const { calls, changed } = open(session, principal, options.abortSignal);
      let call: WaitingCall;
      try {
        call = await calls.answer(id, responses, options);
      } catch (error) {
        const after = changed(session);
        if (after !== session) await onSession?.(after);
        throw error;
      }
      const after = changed(session);
      if (after !== session) await onSession?.(after);
      return { session: after, call };
    },
    async withdraw(session, id, use) {
      const { principal } = checkOptions(carriedUseSchema, use);
      const { calls, changed } = open(session, principal);
      const call = await calls.withdraw(id);
      return { session: changed(session), call };
    },
  };
}
