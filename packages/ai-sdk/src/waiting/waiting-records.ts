import type { Principal, SessionStore, StoredRecord } from "@durable-mcp/core";
import { isRecord, parseWaitingKey, waitingKey } from "@durable-mcp/core/internal";
import type { WaitingRecord } from "@durable-mcp/core/waiting/internal";
import { isOpen, loadWaiting } from "./stored-calls.ts";
import { inParallel } from "../base/in-parallel.ts";
import type { Tell } from "../events/step-events.ts";

/** A waiting call from a store's list, and whose it is. */
export interface ListedCall extends StoredRecord {
  readonly of: NonNullable<ReturnType<typeof parseWaitingKey>>;
}

/** A waiting call that was open when it was deleted. */
export interface OpenCall extends Pick<ListedCall, "of"> {
  readonly record: WaitingRecord;
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

/** Those that no later release wrote: that one sweeps its own. */
export async function callsOfThisRelease(calls: readonly ListedCall[]): Promise<ListedCall[]> {
  if (calls.length === 0) return [];
  const { isNewerCall } = await loadWaiting();
  return calls.filter(({ value }) => !isNewerCall(value));
}

/** Deletes a call's entry among those that can be looked at, which names its principal. */
async function deleteDue(store: SessionStore, { of, value }: ListedCall): Promise<void> {
  const due = isRecord(value) ? value["due"] : undefined;
  const { dropDue } = await loadWaiting();
  if (typeof due === "string") await dropDue(store, of.agent, due);
}

/**
 * Deletes waiting calls, and tells of those that were open. A leg that is under way does not bring its call back: only
 * its process knows what the server answers.
 *
 * @param principal whose they are: a store may list a fingerprint instead. @default whoever the listed keys name
 * @returns those that were open
 */
export async function deleteCalls(
  { store, tell }: { readonly store: SessionStore; readonly tell: Tell },
  calls: readonly ListedCall[],
  principal?: Principal,
): Promise<OpenCall[]> {
  if (calls.length === 0) return [];
  const { parseWaitingRecord, describeWaiting } = await loadWaiting();
  const open = await inParallel(calls, async (listed) => {
    const { key, of, value } = listed;
    await store.delete(principal ? waitingKey({ ...of, principal }, of.id) : key);
    await deleteDue(store, listed);
    const record = parseWaitingRecord(value);
    if (record === undefined || !isOpen({ call: record })) return [];
    const { connection, tool, round } = describeWaiting(record);
    const state = record.state === "answering" ? "outcome-unknown" : "withdrawn";
    tell({ type: "waiting-call", connection, tool, round, state });
    return [{ of, record }];
  });
  return open.flat();
}

/** Deletes waiting calls that nobody has used since they were listed. @returns how many */
export async function deleteUnusedCalls(
  { store }: { readonly store: SessionStore },
  calls: readonly ListedCall[],
): Promise<number> {
  const deleted = await inParallel(calls, async (listed) => {
    const { ok } = await store.delete(listed.key, listed.revision);
    if (ok) await deleteDue(store, listed);
    return ok;
  });
  return deleted.filter(Boolean).length;
}
