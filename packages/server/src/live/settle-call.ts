import { McpSessionError, type StoreBatchWrite } from "@durable-mcp/core";
import { outcomeUnknown } from "../base/json-rpc.ts";
import type { Answer, RequestId } from "../base/mcp-types.ts";
import { type CommitOutcome, commitRows } from "../records/commit-rows.ts";
import type { SessionRecord } from "../records/session-record.ts";
import type { Effects } from "../records/stored-row.ts";
import { sessionGone } from "../state/state-errors.ts";
import type { LiveContext } from "./handler-context.ts";
import type { RequestState } from "./request-state.ts";

/** What a request changed. */
export interface CallEffects {
  /** Settings of its session. */
  readonly edit?: Effects<SessionRecord>["edit"];
  /** Of its state. */
  readonly state?: RequestState | undefined;
}

/**
 * Stores the effects of a request together with its answer.
 * @param rowsOf the writes that keep an answer for clients that come back
 * @returns the answer, or an error when that failed
 */
export async function settleCall(
  context: LiveContext,
  requestId: RequestId,
  answer: Answer,
  effects: () => CallEffects,
  rowsOf: (answer: Answer) => StoreBatchWrite[],
): Promise<Answer> {
  try {
    const outcome = await storeAll(context, effects(), rowsOf(answer));
    if (outcome === "stored") return answer;
    if (outcome === "gone") throw sessionGone();
    return outcomeUnknown(requestId);
  } catch (error) {
    const failed = failure(requestId, error);
    // The store has emitted its failure; the client that waits gets the error all the same.
    await commitRows(context.store, rowsOf(failed)).catch(() => {});
    return failed;
  }
}

async function storeAll(
  { stored }: LiveContext,
  { edit, state }: CallEffects,
  rows: readonly StoreBatchWrite[],
): Promise<CommitOutcome> {
  const change = state?.call?.change();
  if (!state || !change || state.row === stored) return await stored.write({ change, edit, rows });
  if (edit) await stored.write({ edit });
  return await state.row.commit(change, rows);
}

function failure(id: RequestId, error: unknown): Answer {
  if (!McpSessionError.isInstance(error)) {
    const message =
      "The session could not be saved after this request. Check its outcome before you send it again.";
    return { jsonrpc: "2.0", id, error: { code: -32603, message } };
  }
  const { message, code } = error;
  return { jsonrpc: "2.0", id, error: { code: -32603, message, data: { code } } };
}
