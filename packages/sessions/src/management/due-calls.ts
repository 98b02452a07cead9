import type { Principal } from "@durable-mcp/core";
import type { WaitingCall } from "@durable-mcp/core/waiting";
import { checkOptions } from "../base/check-options.ts";
import { loadWaiting } from "../waiting/stored-calls.ts";
import { dueSchema, lookSchema } from "../sessions/outside-schemas.ts";
import type { SessionsContext } from "../sessions/sessions-context.ts";
import { openWaiting } from "./open-waiting.ts";

/** Names a call that can be looked at. */
export interface DueReference {
  /** Opaque, without the call's id or principal. A queue may carry it. */
  readonly reference: string;
}

/** A waiting call after a look, and whose it is, to start the next step. */
export interface CheckedCall {
  readonly sessionId: string;
  readonly principal: Principal;
  readonly call: WaitingCall;
}

/** The waiting calls of all principals, for a worker. */
export interface DueCalls {
  /**
   * The calls of this agent's sessions that are worth a look now, of all principals, in no order: tasks, and streams
   * that can be resumed; those whose process may be dead; questions and sign-ins whose time is up. A reference says
   * nothing of its call; give it to `check`, in any process.
   *
   * @param query.limit how many at most, 1 to 1000; by default 100
   * @throws {McpSessionError} `STORE_FAILED`
   */
  due(query?: { readonly limit?: number | undefined }): AsyncIterable<DueReference>;
  /**
   * Looks at the call of a reference, for its principal, if it is due. Of several processes one looks.
   *
   * @returns the call as it is then; `undefined` if it was over before, or was deleted
   * @throws {McpSessionError} `STATE_INVALID` for a call of a later release; `STORE_FAILED`
   */
  check(
    reference: string,
    use?: { readonly abortSignal?: AbortSignal | undefined },
  ): Promise<CheckedCall | undefined>;
}

/** The calls of all principals that can be looked at. */
export function createDueCalls(context: SessionsContext): DueCalls {
  const { store, agent, now } = context;
  return {
    async *due(query = {}) {
      const { limit = 100 } = checkOptions(dueSchema, query);
      const { openCalls } = await loadWaiting();
      const { references } = await openCalls.dueOf(store, agent).list({ now: now(), limit });
      // Several workers begin at different places.
      for (const reference of shuffled(references)) yield { reference };
    },
    async check(reference, use = {}) {
      const { abortSignal } = checkOptions(lookSchema, use);
      const { describeWaiting, openCalls } = await loadWaiting();
      const entries = openCalls.dueOf(store, agent);
      const of = await entries.read(reference);
      if (of === undefined) return undefined;
      const { sessionId, principal, id } = of;
      const calls = openWaiting(context, sessionId, principal, abortSignal);
      const found = await calls.checkOne(id, { abortSignal });
      await entries.followLook(reference, found?.call, now());
      if (found === undefined || found.wasOver) return undefined;
      return { sessionId, principal, call: describeWaiting(found.call) };
    },
  };
}

function shuffled<T>(list: readonly T[]): T[] {
  return list
    .map((value) => ({ value, at: Math.random() }))
    .toSorted((one, other) => one.at - other.at)
    .map(({ value }) => value);
}
