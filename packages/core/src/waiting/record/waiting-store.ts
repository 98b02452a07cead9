import { McpSessionError } from "../../base/mcp-session-error.ts";
import { principalParts } from "../../session/principal.ts";
import type { JsonValue, SessionStore, StoredValue } from "../../stores/session-store.ts";
import { isNewerFormat, newerFormat } from "../../session/snapshot-shape.ts";
import { createDueIndex, createReference } from "./due-calls.ts";
import { waitingKeys, type WaitingOwner } from "./waiting-key.ts";
import { createInbox } from "./inbox.ts";
import { createStepMarks } from "./step-marks.ts";
import { sessionEnded } from "./waiting-failure.ts";
import { delivers, isOpen, renews } from "./waiting-life.ts";
import {
  newestVersion,
  parseWaitingRecord,
  printWaitingRecord,
  type WaitingRecord,
} from "./waiting-record.ts";

/** A record and its revision. */
export interface StoredCall<CALL extends WaitingRecord = WaitingRecord> {
  readonly call: CALL;
  readonly revision: string;
}

/**
 * What is known of the attempts to create a record. Who ends its agent session deletes its entry, too: one that was
 * there and is not any more says that the record was, perhaps.
 */
export interface CreationTries {
  hadEntry?: true;
}

/** The waiting calls of one agent session and principal in a store. */
export type WaitingStore = ReturnType<typeof createWaitingStore>;

/** No id of ours is longer, in characters. */
const maxIdLength = 100;

/** The most that is listed at a time. */
const pageSize = 1_000;

/**
 * @param now the time of each write. @default the store's
 * @param isCarried whether the store is of this one agent session, so that nobody looks for its calls there
 */
export function createWaitingStore(
  store: SessionStore,
  of: WaitingOwner,
  now?: () => number,
  isCarried = false,
) {
  const due = isCarried ? undefined : createDueIndex(store, of);
  const owner = JSON.stringify(principalParts(of.principal));
  const prefix = waitingKeys.start(of.agent, of.sessionId);
  const keyOf = (id: string) => waitingKeys.of(of, id);
  const get = async (id: string): Promise<StoredValue | undefined> => {
    // Ids come from browsers, and a store refuses a longer key.
    const isId = typeof id === "string" && id.length <= maxIdLength;
    return isId ? await store.get(keyOf(id)) : undefined;
  };
  const read = async (id: string) => accept(await get(id), id);
  const put = async (call: WaitingRecord, ifRevision: string | null) =>
    await store.put(keyOf(call.id), printWaitingRecord(call), ifRevision, { owner, at: now?.() });

  /** @returns `undefined` if another process changed the record */
  const replace = async <CALL extends WaitingRecord>(
    { call, revision }: StoredCall,
    next: CALL,
  ): Promise<StoredCall<CALL> | undefined> => {
    const takeBack = await due?.prepare(next, call);
    const result = await put(next, revision);
    if (!result.ok) {
      await takeBack?.();
      return undefined;
    }
    await due?.follow(next, call).catch(() => undefined);
    return { call: next, revision: result.revision };
  };
  return {
    of,
    /** The longest record, in bytes. */
    maxBytes: store.maxBytes,
    inbox: isCarried ? undefined : createInbox(store, of),
    steps: isCarried ? undefined : createStepMarks(store, of),
    /** Names the entry of a call that begins to wait. */
    reference: async () => (isCarried ? undefined : await createReference(of)),
    read,
    /** What stands in a call's place, by whatever release. */
    value: async (id: string): Promise<JsonValue | undefined> => (await get(id))?.value,
    /** @returns the stored record, or another process's in its place @throws `NOT_WAITING`, see `CreationTries` */
    async create(call: WaitingRecord, tries: CreationTries = {}): Promise<StoredCall> {
      const takeBack = await due?.prepare(call);
      if (takeBack && tries.hadEntry) throw await endedMeanwhile(takeBack);
      tries.hadEntry = true;
      const result = await put(call, null);
      if (result.ok) return { call, revision: result.revision };
      await takeBack?.();
      const current = accept(result.current, call.id);
      if (current !== undefined) return current;
      throw unreadable();
    },
    replace,
    /** Notes that a conversation has the result of a call, if it is over. @returns whether it is as it was read */
    async noteDelivered({ call, revision }: StoredCall): Promise<boolean> {
      if (isOpen(call) || call.isDelivered) return true;
      return (await replace({ call, revision }, delivers(call))) !== undefined;
    },
    noteTaken: createTaken(read, replace),
    async remove({ call, revision }: StoredCall): Promise<void> {
      await store.delete(keyOf(call.id), revision);
      await due?.forget(call).catch(() => undefined);
    },
    touch: (id: string, at: number) => store.touch(keyOf(id), at),
    /** When a record was last put or touched. */
    lastUse: (stored: StoredCall) =>
      lastUse(store, { prefix: keyOf(stored.call.id), owner }, stored),
    /** All of them in the order of the questions, without unreadable ones. @throws `STATE_INVALID` for a later release's */
    async list(): Promise<StoredCall[]> {
      const found = await listAll(store, { prefix, owner });
      return found.toSorted((a, b) => a.call.askedAt - b.call.askedAt);
    },
  };
}

/** Notes that a step has taken so many of a watch's news, if the watch is not over. */
function createTaken(
  read: (id: string) => Promise<StoredCall | undefined>,
  replace: (stored: StoredCall, next: WaitingRecord) => Promise<unknown>,
) {
  return async (id: string, taken: number, at: number): Promise<void> => {
    const stored = await read(id);
    if (stored?.call.type !== "watch" || !isOpen(stored.call)) return;
    const { held, expiresAt } = stored.call;
    const news = Math.max(0, (held.news ?? 0) - taken);
    await replace(stored, renews(stored.call, { ...held, expiresAt, news }, at));
  };
}

async function lastUse(
  store: SessionStore,
  query: { readonly prefix: string; readonly owner: string },
  { revision }: StoredCall,
): Promise<number | undefined> {
  const { records } = await store.list({ ...query, limit: pageSize });
  // A store may list a fingerprint instead of the principal.
  return records.find((record) => record.revision === revision)?.lastUsedAt;
}

async function listAll(
  store: SessionStore,
  query: { readonly prefix: string; readonly owner: string },
): Promise<StoredCall[]> {
  const found: StoredCall[] = [];
  let cursor: string | undefined;
  do {
    const page = await store.list({ ...query, cursor, limit: pageSize });
    for (const { key, value, revision } of page.records) {
      const stored = accept({ value, revision }, waitingKeys.parse(key)?.id);
      if (stored !== undefined) found.push(stored);
    }
    ({ cursor } = page);
  } while (cursor !== undefined);
  return found;
}

async function endedMeanwhile(takeBack: () => Promise<void>) {
  await takeBack();
  return sessionEnded("withdrawn");
}

function unreadable() {
  return new McpSessionError(
    "STORE_FAILED",
    "The store has a value in the place of a waiting call that cannot be read, so the call cannot wait. It was not carried out.",
  );
}

/** Whether a later release wrote a record: it is left to that release. */
export function isNewerCall(value: unknown): boolean {
  return isNewerFormat(value, newestVersion);
}

/** @throws {McpSessionError} `STATE_INVALID` for a record of a later release */
function accept(stored: StoredValue | undefined, id: string | undefined): StoredCall | undefined {
  if (stored === undefined) return undefined;
  if (isNewerCall(stored.value)) throw newerFormat("The record of a waiting call");
  const call = parseWaitingRecord(stored.value);
  return call && call.id === id ? { call, revision: stored.revision } : undefined;
}
