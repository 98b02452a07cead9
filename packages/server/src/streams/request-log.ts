import type { JsonValue } from "@durable-mcp/core";
import type { RequestId } from "@modelcontextprotocol/sdk/types.js";
import { randomName } from "../base/session-id.ts";
import type { StoreContext } from "../records/store-context.ts";
import { removeAllUnder, storeKey, storeKeyPrefix } from "../records/store-key.ts";
import type { StoredSession } from "../records/stored-session.ts";
import type { SessionEventIds } from "./event-id.ts";
import { createLoggedRequests, type LoggedRequests, type PutRequest } from "./logged-requests.ts";
import { parseRequestRecord, requestKeyPart, type RequestRecord } from "./request-record.ts";

/** The live session that gets the requests. */
export interface RequestOwner {
  readonly stored: StoredSession;
  readonly eventIds: SessionEventIds;
  readonly instance: string;
}

/** How long a request without an answer is kept: a day. */
const maxOpenMs = 24 * 60 * 60_000;

/** The requests in flight, and the answers for which a client may come back. */
export function createRequestLog(context: StoreContext) {
  const { settings, store, replica } = context;
  const { name, now, timeouts } = settings;
  const keyOf = (hash: string, part: string) => storeKey(name, "request", hash, part);
  /** The requests that this process has in flight, by nonce. */
  const served = new Set<string>();

  const put: PutRequest = (key, record, ifRevision, owner) => {
    const keepMs = record.open.length > 0 ? maxOpenMs : timeouts.resumeMs;
    const value = record as unknown as JsonValue;
    return store.put(key, value, ifRevision, { owner, expiresAt: now() + keepMs });
  };

  /** Whether a live process still works on a request. */
  async function isServed(record: RequestRecord): Promise<boolean> {
    if (record.open.length === 0) return false;
    if (record.replica === replica.token) return served.has(record.nonce);
    return await replica.isAlive(record.replica);
  }

  /** Stores `record` unless a request with this id is in flight. @returns its revision */
  async function claim(key: string, record: RequestRecord, owner: string) {
    let ifRevision: string | null = null;
    for (;;) {
      const result = await put(key, record, ifRevision, owner);
      if (result.ok) return result.revision;
      const other = parseRequestRecord(result.current?.value);
      if (other && (await isServed(other))) return undefined;
      ifRevision = result.current?.revision ?? null;
    }
  }

  /** `undefined` when a request with one of the ids is in flight, here or on another replica. */
  async function open(
    { stored, eventIds, instance }: RequestOwner,
    ids: readonly [RequestId, ...RequestId[]],
  ): Promise<LoggedRequests | undefined> {
    const { owner } = stored.record;
    const nonce = randomName();
    const base = { version: 1 as const, nonce, replica: replica.token, instance };
    const rows = ids.map((id, index) => {
      const own = index === 0 ? [...ids] : [id];
      const record: RequestRecord = { ...base, ids: own, open: own, events: [], last: 0 };
      const key = keyOf(stored.hash, requestKeyPart(id));
      return { id, key, record, revision: undefined as string | undefined };
    });
    const eventId = eventIds.of({ stream: requestKeyPart(ids[0]), nonce });
    const requests = createLoggedRequests(context, { put, served, owner, rows, eventId });
    // Before the first claim: a request that meets the claim must not take this one for dead.
    served.add(nonce);
    try {
      for (const row of rows) {
        row.revision = await claim(row.key, row.record, owner);
        if (row.revision !== undefined) continue;
        await requests.discard();
        return undefined;
      }
      return requests;
    } catch (error) {
      await requests.discard().catch(() => {});
      throw error;
    }
  }

  return {
    open,
    isServed,
    /** The stored request, on whichever replica it runs. */
    find: async (hash: string, stream: string) => {
      const key = keyOf(hash, stream);
      const stored = await store.get(key);
      const record = parseRequestRecord(stored?.value);
      return { key, stored: stored && record && { record, revision: stored.revision } };
    },
    /** Replaces a stored request. @returns whether its revision was still the given one */
    replace: async (...args: Parameters<PutRequest>) => (await put(...args)).ok,
    /** Forgets all requests of a session that has ended. */
    removeAll: (hash: string) => removeAllUnder(store, storeKeyPrefix(name, "request", hash)),
  };
}

export type RequestLog = ReturnType<typeof createRequestLog>;
