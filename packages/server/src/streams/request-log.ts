import type { JsonValue, SessionStore } from "@durable-mcp/core";
import type { JSONRPCMessage, RequestId } from "@modelcontextprotocol/sdk/types.js";
import type { MakeEventId, SessionEventIds } from "./event-id.ts";
import type { Replica } from "../records/replica.ts";
import {
  answeredId,
  appendMessage,
  parseRequestRecord,
  requestKeyPart,
  type RequestRecord,
  type StreamBounds,
} from "./request-record.ts";
import { randomName } from "../base/session-id.ts";
import { removeAllUnder, storeKey, storeKeyPrefix } from "../records/store-key.ts";
import type { Waker } from "./waker.ts";

/** The session that requests belong to. */
export interface RequestOwner {
  readonly hash: string;
  readonly owner: string;
  readonly eventIds: SessionEventIds;
  readonly instance: string;
}

/** One POST with requests, while this process has it. */
export interface LoggedRequests {
  readonly ids: readonly RequestId[];
  readonly eventId: MakeEventId;
  /**
   * Stores a message of the answer stream.
   * @returns its event id; `undefined` when the requests were declared lost meanwhile
   */
  append(message: JSONRPCMessage): Promise<string | undefined>;
  /** Forgets a request whose answer nobody can ask for again. */
  forget(requestId: RequestId): Promise<void>;
  /** Forgets all of them, before their time. */
  discard(): Promise<void>;
}

export interface RequestLogOptions {
  readonly store: SessionStore;
  readonly name: string;
  readonly replica: Replica;
  readonly waker: Waker;
  readonly bounds: StreamBounds;
  /** How long an answered request is kept. */
  readonly maxAgeMs: number;
  /** How long one without an answer is kept. */
  readonly maxOpenMs: number;
  readonly now: () => number;
}

/** The requests in flight, and the answers that a client may come back for. */
export function createRequestLog(options: RequestLogOptions) {
  const { store, name, replica, waker, bounds, maxAgeMs, maxOpenMs, now } = options;
  const keyOf = (hash: string, id: RequestId) =>
    storeKey(name, "request", hash, requestKeyPart(id));

  function put(key: string, record: RequestRecord, ifRevision: string | null, owner: string) {
    const keepMs = record.open.length > 0 ? maxOpenMs : maxAgeMs;
    const value = record as unknown as JsonValue;
    return store.put(key, value, ifRevision, { owner, expiresAt: now() + keepMs });
  }

  /** What this process has in flight, by nonce. */
  const served = new Set<string>();

  /** Whether somebody still works on it. */
  async function isServed(record: RequestRecord): Promise<boolean> {
    if (record.open.length === 0) return false;
    if (record.replica === replica.token) return served.has(record.nonce);
    return await replica.isAlive(record.replica);
  }

  /** Stores `record` where no request with this id is in flight; `undefined` where one is. */
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

  return {
    /** `undefined` when a request with one of the ids is in flight, here or on another replica. */
    async open(
      { eventIds, hash, owner, instance }: RequestOwner,
      ids: readonly [RequestId, ...RequestId[]],
    ): Promise<LoggedRequests | undefined> {
      const nonce = randomName();
      const base = { version: 1 as const, nonce, replica: replica.token, instance };
      const rows = ids.map((id, index) => {
        const own = index === 0 ? [...ids] : [id];
        const record: RequestRecord = { ...base, ids: own, open: own, events: [], last: 0 };
        return { id, key: keyOf(hash, id), record, revision: undefined as string | undefined };
      });
      async function withdraw(): Promise<void> {
        served.delete(nonce);
        const claimed = rows.filter((row) => row.revision !== undefined);
        await Promise.all(claimed.map((row) => store.delete(row.key, row.revision)));
      }
      // Before the first claim: whoever meets it must not take it for that of a dead request.
      served.add(nonce);
      try {
        for (const row of rows) {
          row.revision = await claim(row.key, row.record, owner);
          if (row.revision !== undefined) continue;
          await withdraw();
          return undefined;
        }
      } catch (error) {
        await withdraw().catch(() => {});
        throw error;
      }
      const stream = rows[0]!;
      const eventId = eventIds.of({ stream: requestKeyPart(ids[0]), nonce });
      let turn: Promise<unknown> = Promise.resolve();

      async function write(row: (typeof rows)[number], record: RequestRecord): Promise<boolean> {
        if (row.revision === undefined) return false;
        const result = await put(row.key, record, row.revision, owner);
        row.revision = result.ok ? result.revision : undefined;
        // Of an answered request only the revision is needed again, to forget it.
        if (result.ok) row.record = record.open.length > 0 ? record : { ...record, events: [] };
        if (row === stream && (!result.ok || record.open.length === 0)) served.delete(nonce);
        return result.ok;
      }

      async function append(message: JSONRPCMessage): Promise<string | undefined> {
        const answered = answeredId(message);
        const other = rows.find((row) => row !== stream && row.id === answered);
        if (other) await write(other, { ...other.record, open: [] });
        const record = appendMessage(stream.record, message, bounds);
        const isKept = await write(stream, record).catch((error: unknown) => {
          // Its last answer will not be stored: who comes back for it must not wait for it.
          if (record.open.length === 0) served.delete(nonce);
          throw error;
        });
        if (!isKept) return undefined;
        waker.wake(stream.key);
        return eventId(stream.record.last);
      }

      async function forget(requestId: RequestId): Promise<void> {
        for (const row of rows) {
          const open = row.record.open.filter((id) => id !== requestId);
          if (open.length === row.record.open.length || row.revision === undefined) continue;
          if (open.length > 0 || row.record.events.length > 0) {
            await write(row, { ...row.record, open });
          } else {
            await remove(row);
          }
          waker.wake(row.key);
        }
      }

      async function remove(row: (typeof rows)[number]): Promise<void> {
        if (row === stream) served.delete(nonce);
        if (row.revision === undefined) return;
        await store.delete(row.key, row.revision);
        row.revision = undefined;
      }

      /** The revision that the next write must name is known only after the one before. */
      function inTurn<T>(task: () => Promise<T>): Promise<T> {
        const result = turn.then(task);
        turn = result.catch(() => {});
        return result;
      }
      return {
        ids,
        eventId,
        append: (message) => inTurn(() => append(message)),
        forget: (requestId) => inTurn(() => forget(requestId)),
        discard: () => inTurn(async () => void (await Promise.all(rows.map(remove)))),
      };
    },

    isServed,

    /** The stored request, whoever has it. */
    async find(hash: string, stream: string) {
      const key = storeKey(name, "request", hash, stream);
      const stored = await store.get(key);
      const record = parseRequestRecord(stored?.value);
      return { key, stored: stored && record && { record, revision: stored.revision } };
    },

    /** Replaces it, if nobody did before. */
    async replace(key: string, record: RequestRecord, ifRevision: string, owner: string) {
      return (await put(key, record, ifRevision, owner)).ok;
    },

    /** Forgets all requests of a session that has ended. */
    removeAll: (hash: string) => removeAllUnder(store, storeKeyPrefix(name, "request", hash)),
  };
}

export type RequestLog = ReturnType<typeof createRequestLog>;
