import type { Principal, SessionStore, StoredRecord } from "@durable-mcp/core";
import { isRecord, parseWaitingKey, waitingKey } from "@durable-mcp/core/internal";
import { isOpen, loadWaiting } from "./stored-calls.ts";
import { inParallel } from "../base/in-parallel.ts";
import type { Tell } from "../events/step-events.ts";

/** A waiting call from a store's list, and whose it is. */
export interface ListedCall extends StoredRecord {
  readonly of: NonNullable<ReturnType<typeof parseWaitingKey>>;
}

/** The waiting call that a record is; none for any other record. */
export function asWaitingCall(record: StoredRecord): ListedCall[] {
  const of = parseWaitingKey(record.key);
  return of === undefined ? [] : [{ ...record, of }];
}

/** Whether a call is of a connection. One that does not parse may be of none. */
export function isCallOf({ value }: ListedCall, connection: string | undefined): boolean {
  return connection === undefined || (isRecord(value) && value["connection"] === connection);
}

/**
 * Deletes waiting calls, and tells of those that were open. A leg that is under way does not bring its call back: only
 * its process knows what the server answers.
 *
 * @param principal whose they are: a store may list a fingerprint instead. @default whoever the listed keys name
 */
export async function deleteCalls(
  { store, tell }: { readonly store: SessionStore; readonly tell: Tell },
  calls: readonly ListedCall[],
  principal?: Principal,
): Promise<void> {
  if (calls.length === 0) return;
  const { parseWaitingRecord, describeWaiting } = await loadWaiting();
  await inParallel(calls, async ({ key, of, value }) => {
    await store.delete(principal ? waitingKey({ ...of, principal }, of.id) : key);
    const record = parseWaitingRecord(value);
    if (record === undefined || !isOpen({ call: record })) return;
    const { connection, tool, round } = describeWaiting(record);
    const state = record.state === "answering" ? "outcome-unknown" : "withdrawn";
    tell({ type: "waiting-call", connection, tool, round, state });
  });
}

/** Deletes waiting calls that nobody has used since they were listed. @returns how many */
export async function deleteUnusedCalls(
  { store }: { readonly store: SessionStore },
  calls: readonly ListedCall[],
): Promise<number> {
  const deleted = await inParallel(calls, ({ key, revision }) => store.delete(key, revision));
  return deleted.filter(({ ok }) => ok).length;
}
