import { maxBatch } from "@durable-mcp/core/internal";
import type { JsonValue, StoreBatchWrite } from "@durable-mcp/core";
import { answeredId, outcomeUnknown } from "../base/json-rpc.ts";
import { commitRows } from "../records/commit-rows.ts";
import type { StoreContext } from "../records/store-context.ts";
import { storeKey } from "../records/store-key.ts";
import type { CallRecord, StreamEvent } from "./call-record.ts";

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

type LogContext = Pick<StoreContext, "store" | "settings">;

/** The key of a call's answer, which one process alone can write. */
export function answerKey({ settings }: LogContext, hash: string, call: string): string {
  return storeKey(settings.name, "answer", hash, call);
}

/** A put that only succeeds where nothing is stored yet. */
export function newCallRow(
  { settings }: LogContext,
  key: string,
  record: CallRecord,
  owner: string,
  expiresAt = settings.now() + settings.timeouts.resumeMs,
): StoreBatchWrite {
  const value = record as unknown as JsonValue;
  return { type: "put", key, value, ifRevision: null, owner, expiresAt };
}

/** How long messages wait for others, to be stored with them, in milliseconds. */
const gatherMs = 5;

/** The key of a part of a call's stream that precedes its answer. */
export function partKey(
  { settings }: LogContext,
  hash: string,
  call: string,
  part: number,
): string {
  return storeKey(settings.name, "messages", hash, call, place(part));
}

/** @param parts how many another process has stored before */
// oxlint-disable-next-line max-lines-per-function -- its state, and functions of a few lines each
export function createCallLog(
  context: LogContext,
  { hash, call, owner, parts = 0 }: { hash: string; call: string; owner: string; parts?: number },
): CallLog {
  const { store, settings } = context;
  const { maxEvents, maxLength } = settings.events;
  const key = answerKey(context, hash, call);
  const chunks: Chunk[] = [];
  let waiting: LoggedEvent[] = [];
  let chunked: { readonly place: number; readonly before: LoggedEvent[] } | undefined;
  let written = parts;
  let writing: Promise<unknown> | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;

  const row = (rowKey: string, logged: readonly LoggedEvent[], until?: number) => {
    const events = logged.map(({ place: at, message }) => ({ place: at, message }));
    return newCallRow(context, rowKey, { version: 1, events }, owner, until);
  };

  /** The writes for the messages that wait, and for those that they push out of the bounds. */
  function chunkRows(until?: number): StoreBatchWrite[] {
    const events = withinBounds(waiting, maxEvents, maxLength);
    waiting = [];
    const chunkKey = partKey(context, hash, call, written++);
    const length = lengthOf(events);
    chunks.push({ key: chunkKey, events: events.length, length });
    return [row(chunkKey, events, until), ...makeRoom(0, 0)];
  }

  /** Deletes the oldest messages until there is room for more. */
  function makeRoom(events: number, length: number): StoreBatchWrite[] {
    const rows: StoreBatchWrite[] = [];
    const isFull = () =>
      chunks.reduce((sum, chunk) => sum + chunk.events, events) > maxEvents ||
      chunks.reduce((sum, chunk) => sum + chunk.length, length) > maxLength;
    while (chunks.length > 0 && isFull()) rows.push({ type: "delete", key: chunks.shift()!.key });
    return rows;
  }

  async function write(): Promise<void> {
    timer = undefined;
    if (waiting.length === 0) return;
    // The store has emitted its failure. A client that comes back misses these messages.
    writing = commitRows(store, chunkRows()).catch(() => {});
    await writing;
    writing = undefined;
    if (waiting.length > 0) writeSoon();
  }

  function writeSoon(): void {
    timer ??= setTimeout(() => void write(), gatherMs);
  }

  function stopTimer(): void {
    clearTimeout(timer);
    timer = undefined;
  }

  const log: CallLog = {
    append: (event) => {
      waiting.push(event);
      if (!writing) writeSoon();
    },
    settled: async () => {
      stopTimer();
      await writing;
      stopTimer();
    },
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
      for (const { key: partOf } of chunks) {
        const stored = await store.get(partOf);
        if (!stored) continue;
        await store.put(partOf, stored.value, stored.revision, { owner, expiresAt: until });
      }
    },
    parts: () => written,
    finish: (event, evicted) => {
      // No answers are kept: nothing is left of this one.
      if (evicted.includes(log)) return makeRoom(Infinity, 0);
      const events = withinBounds([...waiting, event], maxEvents, maxLength);
      const room = makeRoom(events.length, lengthOf(events));
      // What does not fit into one transaction expires on its own.
      const forgotten = evicted.flatMap((each) => each.forget());
      return [row(key, events), ...room, ...forgotten].slice(0, maxBatch - 1);
    },
    release: () => {
      waiting = [];
    },
    forget: () =>
      [key, ...chunks.map((chunk) => chunk.key)].map((each) => ({ type: "delete", key: each })),
  };
  return log;
}

function place(number: number): string {
  return number.toString(36).padStart(6, "0");
}

function lengthOf(events: readonly LoggedEvent[]): number {
  return events.reduce((sum, { text }) => sum + text.length, 0);
}

/** The newest messages that fit, answers first; an answer too long to keep becomes an error. */
function withinBounds(
  events: readonly LoggedEvent[],
  maxEvents: number,
  maxLength: number,
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
