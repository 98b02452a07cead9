import { McpSessionError, type Principal } from "@durable-mcp/core";
import { isRecord } from "@durable-mcp/core/internal";
import type { InputResponses, WaitingCall } from "@durable-mcp/core/waiting";
import type { WaitingRecord } from "@durable-mcp/core/waiting/internal";
import { checkOptions } from "../base/check-options.ts";
import { recordOwner } from "../records/slot-record.ts";
import type { AnswerOptions } from "../waiting/run-waiting.ts";
import { loadWaiting } from "../waiting/stored-calls.ts";
import { openWaiting } from "./open-waiting.ts";
import {
  operatedAnswerSchema,
  operatedSchema,
  openCallsSchema,
} from "../sessions/outside-schemas.ts";
import type { SessionsContext } from "../sessions/sessions-context.ts";

/** An open call, and whose it is. */
export interface OpenCall {
  readonly sessionId: string;
  readonly principal: Principal;
  /** The store's own name for the principal. */
  readonly owner: string;
  /** As `due` gives it: opaque, without the call's id or principal. */
  readonly reference: string;
  readonly call: WaitingCall;
}

/** Names an open call: one that `waiting` has listed, or the same from elsewhere. */
export interface OperatedCall extends Pick<OpenCall, "sessionId" | "principal"> {
  readonly call: Pick<WaitingCall, "id"> & Partial<Pick<WaitingCall, "round">>;
}

/** Who acts for a principal. */
export interface OperatorName {
  /** The operator's name, for the event. Nobody checks it. */
  readonly by: string;
}

/** The open calls of all principals, for operators. */
export interface OperatedCalls {
  /**
   * A page of the calls of this agent's sessions that wait or are being answered, of all kinds, in no order; also those
   * of chats that have nothing else. As the store has them: a look (`check`) brings one up to date. Without those of a
   * later release, and those that an earlier release has left.
   *
   * @param query.limit 1 to 1000; by default 100
   * @throws {McpSessionError} `PRINCIPAL_REQUIRED` for a `principal` that is `undefined`, `CONNECTION_INVALID`,
   *   `STORE_FAILED`
   */
  waiting(query?: {
    readonly sessionId?: string | undefined;
    readonly principal?: Principal;
    readonly cursor?: string | undefined;
    readonly limit?: number | undefined;
  }): Promise<{ readonly calls: readonly OpenCall[]; readonly cursor?: string | undefined }>;
  /**
   * Answers the questions of a call for its principal, as `answer` of the sessions; by default those of the round that
   * was listed.
   *
   * @throws {McpSessionError} as `answer`; `NOT_WAITING` also for a page that only the user can open
   */
  answer(
    of: OperatedCall,
    responses: InputResponses,
    use: OperatorName & AnswerOptions,
  ): Promise<WaitingCall>;
  /** Takes a call back, as `withdraw` of the sessions. */
  withdraw(of: OperatedCall, use: OperatorName): Promise<WaitingCall>;
}

export function createOperatedCalls(context: SessionsContext): OperatedCalls {
  const { store, agent } = context;
  return {
    async waiting(query = {}) {
      const { cursor, limit = 100, ...selected } = checkOptions(openCallsSchema, query);
      if ("principal" in selected) recordOwner(selected.principal);
      const { describeWaiting, openCalls } = await loadWaiting();
      const page = await openCalls.list(store, { agent, ...selected }, { cursor, limit });
      const calls = page.calls.map((found) => {
        const { agent: _, id: __, record, ...of } = found;
        return { ...of, call: describeWaiting(record) };
      });
      return { calls, cursor: page.cursor };
    },
    async answer({ sessionId, principal, call }, responses, use) {
      const { by, abortSignal, round = call.round } = checkOptions(operatedAnswerSchema, use);
      const { createWaitingStore, parseWaitingRecord } = await loadWaiting();
      const stored = createWaitingStore(store, { agent, sessionId, principal });
      const found = parseWaitingRecord(await stored.value(call.id));
      if (found && asksForPage(found)) throw onlyOfUser(found);
      const calls = openWaiting(context, sessionId, principal, abortSignal, by);
      return await calls.answer(call.id, responses, { ...(round !== 0 && { round }), abortSignal });
    },
    async withdraw({ sessionId, principal, call }, use) {
      const { by } = checkOptions(operatedSchema, use);
      return await openWaiting(context, sessionId, principal, undefined, by).withdraw(call.id);
    },
  };
}

/** A call whose server wants its user to open a page: nobody else can. */
function onlyOfUser({ connection, state }: WaitingRecord): McpSessionError {
  const message =
    "The server asks the user to open a page, which nobody does for them. Show it to the user, or take the call back with withdraw. Nothing was sent.";
  return new McpSessionError("NOT_WAITING", message, { data: { connection, state } });
}

/** Whether a server wants its user to open a page. */
function asksForPage({ requests }: Pick<WaitingCall, "requests">): boolean {
  return Object.values(requests).some(({ params }) => isRecord(params) && params["mode"] === "url");
}
