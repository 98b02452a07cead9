import { maxBatch } from "@durable-mcp/core/internal";
import type { StoreBatchWrite } from "@durable-mcp/core";
import { answeredId, outcomeUnknown } from "../base/json-rpc.ts";
import { commitRows } from "../records/commit-rows.ts";
import type { StoreContext } from "../records/store-context.ts";
import { answerKey, type CallContext, newCallRow, partKey } from "./call-record.ts";
import type { StreamEvent } from "./call-record.ts";

/** The stored part of one call's answer stream. */
export interface CallLog {
  /** Stores a message that precedes the answer, soon and with others. */
  append(event: LoggedEvent): void;
  /** Resolves when no message is being stored; from then on none is until `chunk` or `finish`. */
  settled(): Promise<void>;
  /** The writes that store a message at once, with those that wait. */
  chunk(event: LoggedEvent): StoreBatchWrite[];
  /** The same for questions, and those before them, which are kept until then. */
  ask(events: readonly LoggedEvent[], until: number): StoreBatchWrite[];
  /** Keeps what was stored before until then. */
  prolong(until: number): Promise<void>;
  /** How many parts were stored. */
  parts(): number;
  /** The writes that store the last message, with those that wait, and forget `evicted`. */
  finish(event: LoggedEvent, evicted: readonly CallLog[]): StoreBatchWrite[];
  /** After `finish` is stored: drops what only it needed. */
  release(): void;
  /** The writes that forget the call. */
  forget(): StoreBatchWrite[];
}

/** A message of an answer stream, with its JSON. */
export interface LoggedEvent extends StreamEvent {
  readonly text: string;
}

/** Messages that were stored together. */
interface Chunk {
  readonly key: string;
  readonly events: number;
  readonly length: number;
}

type Bounds = StoreContext["settings"]["events"];

/** How long messages wait for others, to be stored with them, in milliseconds. */
const gatherMs = 5;

/** @param parts how many another process has stored before */
export function createCallLog(
  context: CallContext,
  { hash, call, owner, parts = 0 }: { hash: string; call: string; owner: string; parts?: number },
): CallLog {
  const { store, settings } = context;
  const key = answerKey(context, hash, call);
  const stored = createStoredParts(settings.events);
  let waiting: LoggedEvent[] = [];
  let chunked: { readonly place: number; readonly before: LoggedEvent[] } | undefined;
  let written = parts;

  const row = (rowKey: string, logged: readonly LoggedEvent[], until?: number) => {
    const events = logged.map(({ place: at, message }) => ({ place: at, message }));
    return newCallRow(context, rowKey, { version: 1, events }, owner, until);
  };

  /** The writes for the messages that wait, and for those that they push out of the bounds. */
  function chunkRows(until?: number): StoreBatchWrite[] {
    const events = withinBounds(waiting, settings.events);
    waiting = [];
    const chunkKey = partKey(context, hash, call, written++);
    stored.add(chunkKey, events);
    return [row(chunkKey, events, until), ...stored.makeRoom([])];
  }

  const gathering = createGathering(() =>
    // The store has emitted its failure. A client that comes back misses these messages.
    waiting.length > 0 ? commitRows(store, chunkRows()).catch(() => {}) : undefined,
  );

  const log: CallLog = {
    append: (event) => {
      waiting.push(event);
      gathering.writeSoon();
    },
    settled: gathering.settled,
    chunk: (event) => {
      // Asked again for one that could not be stored, as an error now: so those before it were not either.
      if (chunked?.place === event.place) waiting = [...chunked.before, ...waiting];
      chunked = { place: event.place, before: waiting };
      waiting = [...waiting, event];
      return chunkRows();
    },
    ask: (events, until) => {
      waiting = [...waiting, ...events];
      return chunkRows(until);
    },
    prolong: async (until) => {
      for (const part of stored.keys()) {
        const found = await store.get(part);
        if (!found) continue;
        await store.put(part, found.value, found.revision, { owner, expiresAt: until });
      }
    },
    parts: () => written,
    finish: (event, evicted) => {
      // No answers are kept: nothing is left of this one.
      if (evicted.includes(log)) return deletesOf(stored.keys());
      const events = withinBounds([...waiting, event], settings.events);
      const room = stored.makeRoom(events);
      // What does not fit into one transaction expires on its own.
      const forgotten = evicted.flatMap((each) => each.forget());
      return [row(key, events), ...room, ...forgotten].slice(0, maxBatch - 1);
    },
    release: () => {
      waiting = [];
    },
    forget: () => deletesOf([key, ...stored.keys()]),
  };
  return log;
}

function lengthOf(events: readonly LoggedEvent[]): number {
  return events.reduce((sum, { text }) => sum + text.length, 0);
}

/**
 * Writes what was gathered, soon after the first of it; one write at a time.
 * @param write `undefined` when nothing was
 */
function createGathering(write: () => Promise<unknown> | undefined) {
  let writing: Promise<unknown> | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;

  async function run(): Promise<void> {
    timer = undefined;
    writing = write();
    if (!writing) return;
    await writing;
    writing = undefined;
    writeSoon();
  }

  function writeSoon(): void {
    if (!writing) timer ??= setTimeout(() => void run(), gatherMs);
  }

  function stop(): void {
    clearTimeout(timer);
    timer = undefined;
  }

  return {
    writeSoon,
    settled: async (): Promise<void> => {
      stop();
      await writing;
      stop();
    },
  };
}

/** The parts of a call's stream that are stored, the oldest first. */
function createStoredParts({ maxEvents, maxLength }: Bounds) {
  const chunks: Chunk[] = [];
  return {
    keys: () => chunks.map(({ key }) => key),
    add: (key: string, events: readonly LoggedEvent[]): void =>
      void chunks.push({ key, events: events.length, length: lengthOf(events) }),
    /** Deletes the oldest messages until there is room for more. */
    makeRoom: (added: readonly LoggedEvent[]): StoreBatchWrite[] => {
      const removed: string[] = [];
      const isFull = () =>
        chunks.reduce((sum, chunk) => sum + chunk.events, added.length) > maxEvents ||
        chunks.reduce((sum, chunk) => sum + chunk.length, lengthOf(added)) > maxLength;
      while (chunks.length > 0 && isFull()) removed.push(chunks.shift()!.key);
      return deletesOf(removed);
    },
  };
}

function deletesOf(keys: readonly string[]): StoreBatchWrite[] {
  return keys.map((key) => ({ type: "delete", key }));
}

/** The newest messages that fit, answers first; an answer too long to keep becomes an error. */
function withinBounds(
  events: readonly LoggedEvent[],
  { maxEvents, maxLength }: Bounds,
): LoggedEvent[] {
  const kept: LoggedEvent[] = [];
  let total = 0;
  for (const event of events.toReversed()) {
    const answered = answeredId(event.message);
    const isTooLong = total + event.text.length > maxLength;
    if (isTooLong && answered !== undefined) {
      kept.push({ ...event, message: outcomeUnknown(answered), text: "" });
    } else if (!isTooLong && (kept.length < maxEvents || answered !== undefined)) {
      kept.push(event);
      total += event.text.length;
    }
  }
  return kept.toReversed();
}
