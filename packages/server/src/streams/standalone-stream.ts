import type { JsonValue, SessionStore } from "@durable-mcp/core";
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";
import * as z from "zod/mini";
import { type SessionEventIds, standalone } from "./event-id.ts";
import type { StreamPart } from "./event-stream-answer.ts";
import type { Replica } from "../records/replica.ts";
import type { StreamBounds } from "./request-record.ts";
import { randomName } from "../base/session-id.ts";
import { storeKey } from "../records/store-key.ts";
import type { Waker } from "./waker.ts";

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
  /** The place up to which some stream has taken the messages; 0 without it. */
  heard: z.optional(z.number()),
  /** The stream that gets the messages, and the process that has it. */
  listener: z.optional(z.object({ token: z.string(), replica: z.string() })),
});

/** The messages of a session that belong to no request, as they are stored. */
type StandaloneRecord = z.infer<typeof schema>;

const empty: StandaloneRecord = { version: 1, events: [], last: 0 };

export interface StandaloneStreamsOptions {
  readonly store: SessionStore;
  readonly name: string;
  readonly replica: Replica;
  readonly waker: Waker;
  readonly bounds: StreamBounds;
  readonly maxAgeMs: number;
  /** How long the record may lie unused. */
  readonly keepMs: number;
  readonly pollIntervalMs: number;
  readonly now: () => number;
  /** Whether a session is stored. */
  readonly isStored: (hash: string) => Promise<boolean>;
}

/** A session, as far as its listening streams are concerned. */
export interface ListeningSession {
  readonly hash: string;
  readonly owner: string;
  readonly eventIds: SessionEventIds;
}

/** The listening streams (GET) of all sessions. Each message goes to one of a session's streams. */
export function createStandaloneStreams(options: StandaloneStreamsOptions) {
  const { store, name, replica, waker, bounds, maxAgeMs, keepMs, pollIntervalMs, now } = options;
  const keyOf = (hash: string) => storeKey(name, "standalone", hash);

  async function read(hash: string) {
    const stored = await store.get(keyOf(hash));
    const parsed = z.safeParse(schema, stored?.value);
    const record = parsed.success ? (stored!.value as unknown as StandaloneRecord) : empty;
    return { record, revision: stored?.revision ?? null };
  }

  /** `undefined` from `change` leaves it as it is. */
  async function edit(
    { hash, owner }: Pick<ListeningSession, "hash" | "owner">,
    change: (record: StandaloneRecord) => StandaloneRecord | undefined,
  ): Promise<StandaloneRecord> {
    for (;;) {
      const { record, revision } = await read(hash);
      const next = change(record);
      if (!next) return record;
      const value = next as unknown as JsonValue;
      const expiresAt = now() + keepMs;
      if ((await store.put(keyOf(hash), value, revision, { owner, expiresAt })).ok) {
        // Looked up after the write: a session that ends later removes what is there by then.
        if (revision === null && !(await options.isStored(hash))) await store.delete(keyOf(hash));
        waker.wake(keyOf(hash));
        return next;
      }
    }
  }

  /** Whether the stream with this token is the one that gets the messages, taking over if none is. */
  async function isListener(session: ListeningSession, token: string, record: StandaloneRecord) {
    const { listener } = record;
    if (listener?.token === token) return true;
    if (listener && (await replica.isAlive(listener.replica))) return false;
    const after = await edit(session, (current) =>
      current.listener?.token === listener?.token
        ? { ...current, listener: { token, replica: replica.token } }
        : undefined,
    );
    return after.listener?.token === token;
  }

  /**
   * The messages that no stream has taken, or all after `replayAfter`. They are this stream's from
   * then on; none when it is not its turn.
   */
  async function take(session: ListeningSession, token: string, replayAfter: number | undefined) {
    let taken: StandaloneRecord["events"] = [];
    let heardBefore = 0;
    await edit(session, (record) => {
      const isOurs = record.listener?.token === token;
      heardBefore = record.heard ?? 0;
      const from = replayAfter ?? heardBefore;
      taken = isOurs ? record.events.filter((event) => event.place > from) : [];
      const heard = taken.at(-1)?.place ?? 0;
      return heard > heardBefore ? { ...record, heard } : undefined;
    });
    return { taken, heardBefore };
  }

  return {
    /** Stores a message; a listening stream, on whichever replica, picks it up. */
    async append(
      session: Pick<ListeningSession, "hash" | "owner">,
      message: JSONRPCMessage,
    ): Promise<void> {
      await edit(session, (record) => {
        const at = now();
        // By the clock, not from 1: a record that expired meanwhile must not begin again at places
        // that a client has seen.
        const last = Math.max(record.last + 1, at);
        const kept = record.events.filter((event) => event.at > at - maxAgeMs);
        const events = [...kept, { place: last, at, message: message as never }];
        return { ...record, last, events: newest(events, bounds) };
      });
    },

    /**
     * What a listening stream says, from `after` (or from what no stream has taken) until `signal` or
     * the session ends.
     */
    async *listen(
      session: ListeningSession,
      { after, isAlive }: { after: number | undefined; isAlive: () => Promise<boolean> },
      signal: AbortSignal,
    ): AsyncGenerator<StreamPart> {
      const token = randomName();
      const eventId = session.eventIds.of({ stream: standalone, nonce: "" });
      const release = await replica.hold();
      let place = after ?? 0;
      /** While messages are taken and not all said: what was heard before them. */
      let heardBefore: number | undefined;
      try {
        const claimed = await edit(session, (record) => ({
          ...record,
          listener: { token, replica: replica.token },
        }));
        place = after ?? claimed.heard ?? 0;
        let replayAfter = after;
        yield { type: "prime", eventId: eventId(place) };
        while (!signal.aborted) {
          const { record } = await read(session.hash);
          if (await isListener(session, token, record)) {
            const next = await take(session, token, replayAfter);
            replayAfter = undefined;
            ({ heardBefore } = next);
            for (const event of next.taken) {
              if (signal.aborted) return;
              ({ place } = event);
              const message = event.message as JSONRPCMessage;
              yield { type: "message", eventId: eventId(place), message };
            }
            heardBefore = undefined;
          } else {
            replayAfter = undefined;
            place = Math.max(place, record.heard ?? 0);
          }
          await waker.wait(keyOf(session.hash), pollIntervalMs, signal);
          if (!signal.aborted && !(await isAlive())) return;
        }
      } finally {
        release();
        await edit(session, (record) => {
          const { listener, ...rest } = record;
          if (listener?.token !== token) return undefined;
          // What it took and could not say any more is for the next one.
          return heardBefore === undefined
            ? rest
            : { ...rest, heard: Math.max(place, heardBefore) };
        }).catch(() => {});
      }
    },

    async remove(hash: string): Promise<void> {
      await store.delete(keyOf(hash));
      waker.wake(keyOf(hash));
    },
  };
}

export type StandaloneStreams = ReturnType<typeof createStandaloneStreams>;

function newest<T extends { message: unknown }>(events: T[], bounds: StreamBounds): T[] {
  let length = 0;
  const kept: T[] = [];
  for (const event of events.toReversed()) {
    length += JSON.stringify(event.message).length;
    if (kept.length >= bounds.maxEvents || length > bounds.maxLength) break;
    kept.unshift(event);
  }
  return kept;
}
