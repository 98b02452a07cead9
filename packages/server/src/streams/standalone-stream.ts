import { McpSessionError } from "@durable-mcp/core";
import type { JSONRPCMessage } from "../base/mcp-types.ts";
import { randomName } from "../base/session-id.ts";
import { renewAfter } from "../records/session-record.ts";
import type { StoreContext } from "../records/store-context.ts";
import type { StoredSession } from "../records/stored-session.ts";
import type { SessionEventIds } from "./event-id.ts";
import type { StreamPart } from "./event-stream-answer.ts";
import {
  appendStandalone,
  createStandaloneRecords,
  type StandaloneRecord,
  type StandaloneRecords,
} from "./standalone-record.ts";

/** One listening stream. */
export interface Listener {
  readonly stored: StoredSession;
  readonly eventIds: SessionEventIds;
  /** The place after which it begins; without one, after the messages that some stream has taken. */
  readonly after: number | undefined;
  /** Whether the session still lives; the stream ends with it. */
  readonly isAlive: () => Promise<boolean>;
}

/** The listening streams (GET) of all sessions. Each message goes to one of a session's streams. */
export function createStandaloneStreams(context: StoreContext) {
  const records = createStandaloneRecords(context);
  const append = gather(async (session, messages) => {
    await records.edit(session, (record) =>
      messages.reduce((next, each) => appendStandalone(next, each, context.settings), record),
    );
  });
  return {
    /** Stores a message; a listening stream, on whichever replica, picks it up. */
    append: async (session: StoredSession, message: JSONRPCMessage): Promise<void> => {
      // Before it is with others: one that is not JSON, or too long, fails alone.
      checkLength(message, context);
      await append(session, message);
    },
    /** The messages of a listening stream, until `signal` aborts or the session ends. */
    listen: (listener: Listener, signal: AbortSignal): AsyncIterable<StreamPart> =>
      listen({ ...context, records }, listener, signal),
    remove: records.remove,
  };
}

/** @throws {McpSessionError} `STATE_INVALID`, and emits it: notifications are sent by nobody who waits */
function checkLength(message: JSONRPCMessage, { settings, emit }: StoreContext): void {
  const { length } = JSON.stringify(message);
  const { maxLength } = settings.events;
  if (length <= maxLength) return;
  const error = new McpSessionError(
    "STATE_INVALID",
    `A message for the listening stream has ${length} characters; events.maxLength allows ${maxLength}. It was not sent.`,
    { data: { field: "events.maxLength" } },
  );
  emit({ type: "failed", error });
  throw error;
}

type Append = (session: StoredSession, message: JSONRPCMessage) => Promise<void>;

/** One write at a time for each session, with all messages that came during the one before. */
function gather(
  write: (session: StoredSession, messages: readonly JSONRPCMessage[]) => Promise<void>,
): Append {
  const waiting = new Map<string, { messages: JSONRPCMessage[]; written: Promise<void> }>();
  const writing = new Map<string, Promise<void>>();
  return (session, message) => {
    const { hash } = session;
    const next = waiting.get(hash);
    if (next) {
      next.messages.push(message);
      return next.written;
    }
    const messages = [message];
    const before = writing.get(hash) ?? Promise.resolve();
    const written = before
      .catch(() => {})
      .then(() => {
        waiting.delete(hash);
        return write(session, messages);
      })
      .finally(() => {
        if (writing.get(hash) === written) writing.delete(hash);
      });
    waiting.set(hash, { messages, written });
    writing.set(hash, written);
    return written;
  };
}

export type StandaloneStreams = ReturnType<typeof createStandaloneStreams>;

interface ListenContext extends StoreContext {
  readonly records: StandaloneRecords;
}

async function* listen(
  context: ListenContext,
  { stored, eventIds, after, isAlive }: Listener,
  signal: AbortSignal,
): AsyncGenerator<StreamPart> {
  const { records, replica, signals, settings } = context;
  const { leaseMs } = settings.timeouts;
  const token = randomName();
  const eventId = eventIds.of(undefined);
  const release = await replica.stay();
  const watching = signals.watch(context.topicOf(stored.hash));
  let place = after ?? 0;
  /** While taken messages are not yet all sent: the place up to which messages were taken before. */
  let heardBefore: number | undefined;
  try {
    const claimed = await records.edit(stored, (record) => ({
      ...record,
      listener: { token, replica: replica.token },
    }));
    place = after ?? claimed.heard ?? 0;
    let replayAfter = after;
    yield { type: "prime", eventId: eventId(place) };
    while (!signal.aborted) {
      const record = await records.read(stored.hash);
      const isOurs = await isListener(context, stored, token, record);
      if (isOurs) {
        const next = await take(context, stored, token, replayAfter);
        ({ heardBefore } = next);
        for (const event of next.taken) {
          if (signal.aborted) return;
          const message = event.message as unknown as JSONRPCMessage;
          yield { type: "message", eventId: eventId(event.place), message };
          // It has been written by now.
          ({ place } = event);
        }
        heardBefore = undefined;
      } else {
        place = Math.max(place, record.heard ?? 0);
      }
      replayAfter = undefined;
      // Of the death of the process that has the stream, nobody tells.
      await watching.next(isOurs ? renewAfter(settings.timeouts) : leaseMs, signal);
      if (!signal.aborted && !(await isAlive())) return;
    }
  } finally {
    release();
    watching.stop();
    await records
      .edit(stored, (record) => {
        const { listener, ...rest } = record;
        if (listener?.token !== token) return undefined;
        // Messages that it took and could not send any more are for the next stream.
        return heardBefore === undefined ? rest : { ...rest, heard: Math.max(place, heardBefore) };
      })
      .catch(() => {});
  }
}

/** Whether the stream with this token gets the messages. It takes over if no live stream does. */
async function isListener(
  { records, replica }: ListenContext,
  session: StoredSession,
  token: string,
  { listener }: StandaloneRecord,
): Promise<boolean> {
  if (listener?.token === token) return true;
  if (listener && (await replica.isAlive(listener.replica))) return false;
  const after = await records.edit(session, (current) =>
    current.listener?.token === listener?.token
      ? { ...current, listener: { token, replica: replica.token } }
      : undefined,
  );
  return after.listener?.token === token;
}

/**
 * Takes the messages that no stream has taken, or all after `replayAfter`: no other stream gets them
 * from then on. It takes none when another stream is the listener.
 */
async function take(
  { records }: ListenContext,
  session: StoredSession,
  token: string,
  replayAfter: number | undefined,
) {
  let taken: StandaloneRecord["events"] = [];
  let heardBefore = 0;
  await records.edit(session, (record) => {
    const isOurs = record.listener?.token === token;
    heardBefore = record.heard ?? 0;
    const from = replayAfter ?? heardBefore;
    taken = isOurs ? record.events.filter((event) => event.place > from) : [];
    const heard = taken.at(-1)?.place ?? 0;
    return heard > heardBefore ? { ...record, heard } : undefined;
  });
  return { taken, heardBefore };
}
