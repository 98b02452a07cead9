import { McpSessionError, type SessionStore, type StoreBatchWrite } from "@durable-mcp/core";
import { isRecord, writeBatch } from "@durable-mcp/core/internal";

/**
 * The outcome of a transaction. `"gone"`: the session has ended. `"lost"`: somebody else has declared
 * the call lost, and nothing was stored.
 */
export type CommitOutcome = "stored" | "gone" | "lost";

/** What is stored in place of other rows when the store fails twice: it may be full. */
export type LesserRows = () => readonly StoreBatchWrite[];

export const noRows: LesserRows = () => [];

/** Stores rows that depend on nothing else. */
export async function commitRows(
  store: SessionStore,
  rows: readonly StoreBatchWrite[] = [],
  lesserRows?: LesserRows,
): Promise<CommitOutcome> {
  if (rows.length === 0) return "stored";
  try {
    return (await writeBatch(store, rows)).ok ? "stored" : "lost";
  } catch (error) {
    if (!mayRepeat(error)) throw error;
    return await repeatRows(store, rows, lesserRows);
  }
}

/** Stores rows again after a try that may have been done: then the row that refuses this one is ours. */
export async function repeatRows(
  store: SessionStore,
  rows: readonly StoreBatchWrite[],
  lesserRows?: LesserRows,
): Promise<CommitOutcome> {
  if (rows.length === 0) return "stored";
  try {
    const again = await writeBatch(store, rows);
    return again.ok || !isTombstone(again.current?.value) ? "stored" : "lost";
  } catch (error) {
    if (!lesserRows || !mayRepeat(error)) throw error;
    return await repeatRows(store, lesserRows(), noRows);
  }
}

/** Whether a write that failed is worth another try: a store that hung is not asked again. */
export function mayRepeat(error: unknown): boolean {
  const cause = McpSessionError.isInstance(error) ? error.cause : undefined;
  return isFailure(error) && !(cause instanceof Error && cause.name === "TimeoutError");
}

/** Whether a write that failed with `error` may have been done all the same. */
export function isFailure(error: unknown): boolean {
  return McpSessionError.isInstance(error) && error.code === "STORE_FAILED";
}

/** Whether a call's answer is that its outcome is unknown, stored by another process. */
function isTombstone(value: unknown): boolean {
  return isRecord(value) && value["isTombstone"] === true;
}
