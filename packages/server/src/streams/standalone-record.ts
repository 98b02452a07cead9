import type { JSONRPCMessage } from "../base/mcp-types.ts";
import * as z from "zod/mini";
import type { HandlerSettings } from "../base/settings.ts";
import type { StoreContext } from "../records/store-context.ts";
import { editValue } from "../records/edit-value.ts";
import { storeKey } from "../records/store-key.ts";
import type { StoredSession } from "../records/stored-session.ts";

const schema = z.object({
  version: z.literal(1),
  writer: z.optional(z.string()),
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

function parse(value: unknown): StandaloneRecord {
  const isStored = z.safeParse(schema, value).success;
  return isStored ? (value as StandaloneRecord) : empty;
}

export function createStandaloneRecords({
  settings,
  store,
  sessions,
  signals,
  topicOf,
}: StoreContext) {
  const keyOf = (hash: string) => storeKey(settings.name, "standalone", hash);

  return {
    read: async (hash: string) => parse((await store.get(keyOf(hash)))?.value),
    /** Stores the changed record; `undefined` from `change` leaves it as it is. */
    edit: async (
      { hash, record: { owner } }: StoredSession,
      change: (record: StandaloneRecord) => StandaloneRecord | undefined,
    ): Promise<StandaloneRecord> => {
      const key = keyOf(hash);
      const expiresAt = settings.now() + settings.timeouts.idleMs;
      const put = () => ({ owner, expiresAt });
      const { value, outcome } = await editValue(store, key, { read: parse, change, put });
      // Looked up after the write: a session that ends later removes the record itself.
      if (outcome === "created" && !(await sessions.isStored(hash))) await store.delete(key);
      if (outcome !== "unchanged") signals.send(topicOf(hash));
      return value;
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
