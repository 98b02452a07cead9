import type { JsonValue } from "@durable-mcp/core";
import type { JSONRPCMessage } from "../base/mcp-types.ts";
import * as z from "zod/mini";
import type { HandlerSettings } from "../base/settings.ts";
import type { StoreContext } from "../records/store-context.ts";
import { storeKey } from "../records/store-key.ts";
import type { StoredSession } from "../records/stored-session.ts";

const schema = z.object({
  version: z.literal(1),
  events: z.array(
    z.object({
      place: z.number(),
      at: z.number(),
      message: z.looseObject({ jsonrpc: z.literal("2.0") }),
    }),
  ),
  last: z.number(),
  /** The place up to which some stream has taken the messages; absent means 0. */
  heard: z.optional(z.number()),
  /** The stream that gets the messages, and its process. */
  listener: z.optional(z.object({ token: z.string(), replica: z.string() })),
});

/** The messages of a session that belong to no request, as they are stored. */
export type StandaloneRecord = z.infer<typeof schema>;

const empty: StandaloneRecord = { version: 1, events: [], last: 0 };

export function createStandaloneRecords({
  settings,
  store,
  sessions,
  signals,
  topicOf,
}: StoreContext) {
  const keyOf = (hash: string) => storeKey(settings.name, "standalone", hash);

  async function load(hash: string) {
    const stored = await store.get(keyOf(hash));
    const parsed = z.safeParse(schema, stored?.value);
    const record = parsed.success ? (stored!.value as unknown as StandaloneRecord) : empty;
    return { record, revision: stored?.revision ?? null };
  }

  return {
    read: async (hash: string) => (await load(hash)).record,
    /** Stores the changed record; `undefined` from `change` leaves it as it is. */
    edit: async (
      { hash, record: { owner } }: StoredSession,
      change: (record: StandaloneRecord) => StandaloneRecord | undefined,
    ): Promise<StandaloneRecord> => {
      const key = keyOf(hash);
      for (;;) {
        const { record, revision } = await load(hash);
        const next = change(record);
        if (!next) return record;
        const value = next as unknown as JsonValue;
        const expiresAt = settings.now() + settings.timeouts.idleMs;
        if (!(await store.put(key, value, revision, { owner, expiresAt })).ok) continue;
        // Looked up after the write: a session that ends later removes the record itself.
        if (revision === null && !(await sessions.isStored(hash))) await store.delete(key);
        signals.send(topicOf(hash));
        return next;
      }
    },
    remove: async (hash: string): Promise<void> => {
      await store.delete(keyOf(hash));
    },
  };
}

export type StandaloneRecords = ReturnType<typeof createStandaloneRecords>;

/** `record` with one more message, and without those that are too many or too old. */
export function appendStandalone(
  record: StandaloneRecord,
  message: JSONRPCMessage,
  { now, timeouts, events: bounds }: HandlerSettings,
): StandaloneRecord {
  const at = now();
  // By the clock, not from 1: a record that expired meanwhile must not begin again at places that a
  // client has seen.
  const last = Math.max(record.last + 1, at);
  const recent = record.events.filter((event) => event.at > at - timeouts.resumeMs);
  const events = [...recent, { place: last, at, message: message as never }];
  let length = 0;
  const firstKept = events.findLastIndex((event, index) => {
    length += JSON.stringify(event.message).length;
    return events.length - index > bounds.maxEvents || length > bounds.maxLength;
  });
  return { ...record, last, events: events.slice(firstKept + 1) };
}
