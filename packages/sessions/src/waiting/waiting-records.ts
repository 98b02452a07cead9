import type { Principal, SessionStore, StoredRecord } from "@durable-mcp/core";
import { isRecord, waitingKeys } from "@durable-mcp/core/internal";
import type { WaitingRecord } from "@durable-mcp/core/waiting/internal";
import { isOpen, loadWaiting } from "./stored-calls.ts";
import { deleteAll } from "../base/delete-all.ts";
import type { Tell } from "../events/step-events.ts";

/** A waiting call from a store's list, and whose it is. */
export interface ListedCall extends StoredRecord {
  readonly of: NonNullable<ReturnType<typeof waitingKeys.parse>>;
}

/** A waiting call that was open when it was deleted. */
export interface OpenCall extends Pick<ListedCall, "of"> {
  readonly record: WaitingRecord;
}

/** The waiting call that a record is; none for any other record. */
export function asWaitingCall(record: StoredRecord): ListedCall[] {
  const of = waitingKeys.parse(record.key);
  return of === undefined ? [] : [{ ...record, of }];
}

/** Whether a call is of a connection. One that does not parse may be of none. */
export function isCallOf({ value }: ListedCall, connection: string | undefined): boolean {
  return connection === undefined || (isRecord(value) && value["connection"] === connection);
}

/** Those that a sweep may delete: no later release wrote them, and they are no news, which last as long as their watch. */
export async function sweepableCalls(calls: readonly ListedCall[]): Promise<ListedCall[]> {
  if (calls.length === 0) return [];
  const { isNewerCall } = await loadWaiting();
  return calls.filter(({ of, value }) => !waitingKeys.isNews(of.id) && !isNewerCall(value));
}

/** Deletes the calls' entries among those that can be looked at, which name their principal. */
async function deleteDue(store: SessionStore, calls: readonly ListedCall[]): Promise<void> {
  const { openCalls } = await loadWaiting();
  const keys = calls.flatMap(({ of, value }) => openCalls.keysOf(of.agent, value));
  await deleteAll(
    store,
    keys.map((key) => ({ key })),
  );
}

/** Deletes what watches have found. */
async function deleteNews(store: SessionStore, calls: readonly ListedCall[]): Promise<void> {
  for (const { of, value, owner } of calls) {
    if (!isRecord(value) || value["kind"] !== "watch") continue;
    const prefix = waitingKeys.newsOf(of.agent, of.sessionId, of.id);
    const { records } = await store.list({ prefix, limit: 1_000 });
    // Another principal's watch has the same id.
    await deleteAll(
      store,
      records.filter((record) => record.owner === owner),
    );
  }
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
  const keys = calls.map(({ key, of }) => ({
    key: principal ? waitingKeys.of({ ...of, principal }, of.id) : key,
  }));
  await deleteAll(store, keys);
  await deleteDue(store, calls);
  await deleteNews(store, calls);
  const open = calls.map(({ of, value }) => {
    const record = parseWaitingRecord(value);
    if (record === undefined || !isOpen({ call: record })) return [];
    const { connection, tool, round } = describeWaiting(record);
    const state = record.state === "answering" ? "outcome-unknown" : "withdrawn";
    tell({ type: "waiting-call", connection, tool, round, state });
    return [{ of, record }];
  });
  return open.flat();
}

/** Deletes waiting calls that nobody has used since they were listed, and the news of watches. @returns how many calls */
export async function deleteUnusedCalls(
  store: SessionStore,
  calls: readonly ListedCall[],
): Promise<number> {
  const deleted = await deleteAll(store, calls);
  if (deleted.length === 0) return 0;
  await deleteDue(store, deleted);
  await deleteNews(store, deleted);
  return deleted.length;
}
