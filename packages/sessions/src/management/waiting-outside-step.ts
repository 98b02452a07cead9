import type { Principal } from "@durable-mcp/core";
import type { WaitingCall } from "@durable-mcp/core/waiting";
import { checkOptions } from "../base/check-options.ts";
import { checkSessionId } from "../records/slot-record.ts";
import { ofState } from "../records/state-store.ts";
import type { ConnectionProvider } from "../sessions/connection-provider.ts";
import type { DurableSessions } from "./durable-sessions.ts";
import {
  answerUseSchema,
  carriedAnswerSchema,
  carriedCheckSchema,
  checkSchema,
  principalSchema,
} from "../sessions/outside-schemas.ts";
import type { ProviderInternals } from "../sessions/provider-internals.ts";
import { openWaiting } from "./open-waiting.ts";
import type { SessionsContext } from "../sessions/sessions-context.ts";
import { createStateContext } from "../sessions/state-context.ts";

type WaitingUses = "waiting" | "answer" | "check" | "withdraw";

/** The uses of waiting calls in a store, outside of a step. */
export function createStoredWaiting(
  context: SessionsContext,
): Pick<DurableSessions<any>, WaitingUses> {
  return {
    async waiting(sessionId, use) {
      const { principal } = checkOptions(principalSchema, use);
      checkSessionId(sessionId);
      return await openWaiting(context, sessionId, principal).list();
    },
    async answer(sessionId, id, responses, use) {
      const { principal, ...options } = checkOptions(answerUseSchema, use);
      checkSessionId(sessionId);
      const calls = openWaiting(context, sessionId, principal, options.abortSignal);
      return await calls.answer(id, responses, options);
    },
    async check(sessionId, use) {
      const { principal, abortSignal } = checkOptions(checkSchema, use);
      checkSessionId(sessionId);
      return await openWaiting(context, sessionId, principal, abortSignal).check({ abortSignal });
    },
    async withdraw(sessionId, id, use) {
      const { principal } = checkOptions(principalSchema, use);
      checkSessionId(sessionId);
      return await openWaiting(context, sessionId, principal).withdraw(id);
    },
  };
}

/** The uses of waiting calls in a state, outside of a step. */
export function createCarriedWaiting(
  internals: ProviderInternals<any>,
): Pick<ConnectionProvider<any>, WaitingUses> {
  const open = (
    { state }: { readonly state?: unknown },
    principal: Principal,
    abortSignal?: AbortSignal,
  ) => {
    const context = createStateContext(internals, state);
    const calls = openWaiting(context, ofState.sessionId, principal, abortSignal);
    return { calls, carried: context.carried };
  };
  return {
    async waiting(session, use) {
      const { principal } = checkOptions(principalSchema, use);
      return await open(session, principal).calls.list();
    },
    async answer(session, id, responses, use) {
      const { principal, onSession, ...options } = checkOptions(carriedAnswerSchema, use);
      const { calls, carried } = open(session, principal, options.abortSignal);
      const save = async () => {
        const after = carried.commit(session);
        if (after !== session) await onSession?.(after);
        return after;
      };
      let call: WaitingCall;
      try {
        call = await calls.answer(id, responses, options);
      } catch (error) {
        await save();
        throw error;
      }
      return { session: await save(), call };
    },
    async check(session, use) {
      const { principal, onSession, abortSignal } = checkOptions(carriedCheckSchema, use);
      const { calls, carried } = open(session, principal, abortSignal);
      const looked = await calls.check({ abortSignal });
      const after = carried.commit(session);
      if (after !== session) await onSession?.(after);
      return { session: after, calls: looked };
    },
    async withdraw(session, id, use) {
      const { principal } = checkOptions(principalSchema, use);
      const { calls, carried } = open(session, principal);
      const call = await calls.withdraw(id);
      return { session: carried.commit(session), call };
    },
  };
}
