import { McpSessionError, type StoreBatchWrite } from "@durable-mcp/core";
import { outcomeUnknown } from "../base/json-rpc.ts";
import type { Answer, RequestId } from "../base/mcp-types.ts";
import { type CommitOutcome, commitRows, type LesserRows } from "../records/commit-rows.ts";
import type { SessionRecord } from "../records/session-record.ts";
import type { Effects } from "../records/stored-row.ts";
import { sessionGone } from "../state/state-errors.ts";
import type { LiveContext } from "../context/handler-context.ts";
import { changeOf, type RequestState } from "../context/request-state.ts";

/** The writes that keep an answer for clients that come back. */
export interface KeptRows {
  readonly rows: readonly StoreBatchWrite[];
  readonly lesserRows?: LesserRows | undefined;
}

/** What a request changed. */
export interface CallEffects {
  /** Settings of its session. */
  readonly edit?: Effects<SessionRecord>["edit"];
  /** Of its state. */
  readonly state?: RequestState | undefined;
}

/** An answer, with its JSON. */
export interface PrintedAnswer {
  readonly message: Answer;
  readonly text: string;
}

/**
 * Stores the effects of a request together with its answer.
 * @returns the answer, or an error when that failed
 */
export async function settleCall(
  context: LiveContext,
  requestId: RequestId,
  answer: Answer,
  effects: () => CallEffects,
  rowsOf: (answer: PrintedAnswer) => KeptRows,
): Promise<PrintedAnswer> {
  try {
    // Printed first: what a handler did for an answer that is not JSON is not stored.
    const printed = printAnswer(answer);
    const outcome = await storeAll(context, effects(), rowsOf(printed));
    if (outcome === "stored") return printed;
    if (outcome === "gone") throw sessionGone();
    return print(outcomeUnknown(requestId));
  } catch (error) {
    if (!McpSessionError.isInstance(error)) context.emit({ type: "failed", error });
    const failed = print(failure(requestId, error));
    // The store has emitted its failure; the client that waits gets the error all the same.
    const { rows, lesserRows } = rowsOf(failed);
    await commitRows(context.store, rows, lesserRows).catch(() => {});
    return failed;
  }
}

function print(message: Answer): PrintedAnswer {
  return { message, text: JSON.stringify(message) };
}

class AnswerNotJson extends Error {
  override readonly name = "AnswerNotJson";
}

/** @throws {AnswerNotJson} */
export function printAnswer(message: Answer): PrintedAnswer {
  try {
    return print(message);
  } catch (cause) {
    const text =
      "The answer to this request is not JSON, so its changes of the state are not stored.";
    throw new AnswerNotJson(`${text} Return plain data from the handler.`, { cause });
  }
}

async function storeAll(
  { stored }: LiveContext,
  { edit, state }: CallEffects,
  kept: KeptRows,
): Promise<CommitOutcome> {
  const change = state && changeOf(state);
  if (!state?.row || !change || state.row === stored) {
    return await stored.write({ change, edit, ...kept });
  }
  if (edit) await stored.write({ edit });
  return await state.row.commit(change, kept.rows, kept.lesserRows);
}

/** The answer to a request whose effects could not be stored. */
export function failure(id: RequestId, error: unknown): Answer {
  if (error instanceof AnswerNotJson) {
    return { jsonrpc: "2.0", id, error: { code: -32603, message: error.message } };
  }
  if (!McpSessionError.isInstance(error)) {
    const message =
      "The state could not be saved after this request. Check its outcome before you send it again.";
    return { jsonrpc: "2.0", id, error: { code: -32603, message } };
  }
  const { message, code } = error;
  return { jsonrpc: "2.0", id, error: { code: -32603, message, data: { code } } };
}
