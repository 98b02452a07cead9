import type { SessionStore } from "@durable-mcp/core";
import type { JSONRPCMessage, RequestId } from "@modelcontextprotocol/sdk/types.js";
import { createQueue } from "../base/queue.ts";
import type { StoreContext } from "../records/store-context.ts";
import type { MakeEventId } from "./event-id.ts";
import { answeredId, appendMessage, type RequestRecord } from "./request-record.ts";

/** The requests of one POST, while this process has them. */
export interface LoggedRequests {
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

export type PutRequest = (
  key: string,
  record: RequestRecord,
  ifRevision: string | null,
  owner: string,
) => ReturnType<SessionStore["put"]>;

/** One request's value in the store. The first one of a POST has the messages of the stream. */
interface RequestRow {
  readonly id: RequestId;
  readonly key: string;
  record: RequestRecord;
  /** `undefined` before it is stored, and when it is stored no longer. */
  revision: string | undefined;
}

interface LoggedRequestsOptions {
  readonly put: PutRequest;
  /** The requests that this process has in flight, by nonce. */
  readonly served: Set<string>;
  readonly owner: string;
  readonly rows: readonly RequestRow[];
  readonly eventId: MakeEventId;
}

export function createLoggedRequests(
  { store, waker, settings }: StoreContext,
  { put, served, owner, rows, eventId }: LoggedRequestsOptions,
): LoggedRequests {
  const stream = rows[0]!;
  const { nonce } = stream.record;
  // Each write must name the revision that the write before it made.
  const inTurn = createQueue();

  async function write(row: RequestRow, record: RequestRecord): Promise<boolean> {
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
    const record = appendMessage(stream.record, message, settings.events);
    const isKept = await write(stream, record).catch((error: unknown) => {
      // The last answer will not be stored: a client that comes back for it must not wait for it.
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
        await discard(row);
      }
      waker.wake(row.key);
    }
  }

  async function discard(row: RequestRow): Promise<void> {
    if (row === stream) served.delete(nonce);
    if (row.revision === undefined) return;
    await store.delete(row.key, row.revision);
    row.revision = undefined;
  }

  return {
    eventId,
    append: (message) => inTurn(() => append(message)),
    forget: (requestId) => inTurn(() => forget(requestId)),
    discard: () => inTurn(async () => void (await Promise.all(rows.map(discard)))),
  };
}
