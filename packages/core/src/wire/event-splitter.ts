import { pauseOf } from "../base/server-limits.ts";
import {
  type ByteParts,
  createPartCollector,
  joined,
  partsBetween,
  partsText,
} from "./byte-parts.ts";

/**
 * One event of an SSE stream as it arrived, in bytes, including its final blank line. A byte order mark
 * at the start of the stream is left out.
 */
export interface EventBytes {
  readonly parts: Uint8Array[];
  /** The value of its `event` field; "" without the field, which means "message". */
  readonly type: string;
  /** The place of its `data` field's value; `undefined` without the field. */
  readonly data: { readonly start: number; readonly end: number } | undefined;
  /** Set instead of `data` if the field is spread over several lines. */
  readonly multiline: { readonly data: string; readonly otherLines: string[] } | undefined;
  /** The `id` of the last event with one, up to this. The stream can be resumed from it. */
  readonly id: string | undefined;
  /** The place of its own `id` line; `undefined` without one. */
  readonly idLine: { readonly start: number; readonly end: number } | undefined;
}

/** The event's data as text, its lines joined. */
export function eventText({ parts, data, multiline }: EventBytes): string {
  return data ? partsText(parts, data.start, data.end) : (multiline?.data ?? "");
}

const lineFeed = 10;
const carriageReturn = 13;
/** UTF-8 for U+FEFF. */
const byteOrderMark = [0xef, 0xbb, 0xbf];
/** "data". */
const dataField = [0x64, 0x61, 0x74, 0x61];
const colon = 0x3a;
const space = 0x20;
const noBytes = new Uint8Array();
/** Field lines other than `data` are short. A longer one is passed on unread. */
const maxFieldLength = 4096;

/** A stream as far as it was read. */
interface ReadStream {
  lastEventId: string | undefined;
  retryMs: number | undefined;
  /** The stream's first bytes, as long as they may become a byte order mark. */
  start: Uint8Array | undefined;
  /** Whether the last byte so far is a CR that ended a line. A following LF belongs to it. */
  isAfterReturn: boolean;
  // The event under way, the start of its current line in it, and the line's first bytes so far. Each
  // byte is read a fixed number of times, however small the chunks and however many lines and chunks.
  held: ReturnType<typeof createPartCollector>;
  lineStart: number;
  lineHead: Uint8Array[];
  fields: Fields;
}

/** What the lines of an event have said so far. */
interface Fields extends Pick<EventBytes, "data" | "idLine"> {
  readonly type: string;
  readonly id: string | undefined;
  readonly dataLines: number;
}
const noFields: Fields = {
  ...{ type: "", id: undefined, idLine: undefined, dataLines: 0, data: undefined },
};

/** Reads a line of the event, from its first bytes. */
function readLine(stream: ReadStream, line: ByteParts, end: number): void {
  const { lineStart, fields } = stream;
  // The line of the data may be long, and is most lines.
  const head = line.length === 1 ? line[0]! : joined(partsBetween(line, 0, 6));
  const isField = dataField.every((byte, at) => byte === head[at]);
  if (isField && (end - lineStart === 4 || head[4] === colon)) {
    const data = { start: Math.min(lineStart + (head[5] === space ? 6 : 5), end), end };
    stream.fields = { ...fields, dataLines: fields.dataLines + 1, data };
    return;
  }
  const text = partsText(line, 0, Math.min(maxFieldLength, end - lineStart));
  if (end - lineStart > maxFieldLength) {
    // A type of that length is not "message".
    if (text.startsWith("event:")) stream.fields = { ...fields, type: "other" };
    return;
  }
  const [, name, value = ""] = /^(id|event|retry)(?:: ?(.*))?$/s.exec(text) ?? [];
  if (name === "event") stream.fields = { ...fields, type: value };
  if (name === "id" && !value.includes("\0"))
    stream.fields = { ...fields, id: value, idLine: { start: lineStart, end } };
  if (name === "retry" && /^\d+$/.test(value)) stream.retryMs = pauseOf(Number(value));
}

/** The event under way, which ends with these bytes. The next one begins. */
function takeEvent(stream: ReadStream, last: Uint8Array): EventBytes {
  const { type, idLine, dataLines, data } = stream.fields;
  const parts = [...stream.held.parts, last];
  const isMultiline = dataLines > 1;
  if (stream.held.length > 0) stream.held = createPartCollector();
  stream.lineStart = 0;
  stream.fields = noFields;
  return {
    ...{ parts, type, id: stream.lastEventId, idLine },
    data: isMultiline ? undefined : data,
    multiline: isMultiline ? joinDataLines(partsText(parts, 0, Infinity)) : undefined,
  };
}

/** The chunk without the stream's byte order mark, which may come in pieces. */
function withoutMark(stream: ReadStream, chunk: Uint8Array): Uint8Array {
  const { start } = stream;
  const isOther = start?.length === 0 && chunk.length > 0 && chunk[0] !== byteOrderMark[0];
  if (isOther) stream.start = undefined;
  if (start === undefined || isOther) return chunk;
  const bytes = start.length === 0 ? chunk : joined([start, chunk]);
  const isMark = byteOrderMark.every((byte, at) => at >= bytes.length || byte === bytes[at]);
  stream.start = isMark && bytes.length < byteOrderMark.length ? bytes : undefined;
  if (stream.start !== undefined) return noBytes;
  return isMark ? bytes.subarray(byteOrderMark.length) : bytes;
}

/** The events that a chunk completes. */
function readChunk(stream: ReadStream, chunk: Uint8Array): EventBytes[] {
  const events: EventBytes[] = [];
  /** The parts of the chunk that belong to the event and the line under way begin here. */
  let eventStart = 0;
  let lineFrom = 0;
  let searchFrom = 0;
  if (stream.isAfterReturn && chunk[0] === lineFeed) {
    searchFrom = 1;
    lineFrom = 1;
    // If the CR ended an event, the event was passed on with an LF already.
    if (stream.held.length === 0) eventStart = 1;
    else stream.lineStart = stream.held.length + 1;
  }
  if (chunk.length > 0) stream.isAfterReturn = chunk.at(-1) === carriageReturn;
  let newline = -2;
  let carriage = -2;
  for (;;) {
    // The search is expensive, so its last result is used until the search passes it.
    if (newline !== -1 && newline < searchFrom) newline = indexOfByte(chunk, lineFeed, searchFrom);
    if (carriage !== -1 && carriage < searchFrom)
      carriage = indexOfByte(chunk, carriageReturn, searchFrom);
    const hasReturn = carriage !== -1 && (newline === -1 || carriage < newline);
    const end = hasReturn ? carriage : newline;
    if (end === -1) break;
    searchFrom = hasReturn && newline === end + 1 ? end + 2 : end + 1;
    const lineEnd = stream.held.length + end - eventStart;
    if (lineEnd > stream.lineStart) {
      readLine(stream, [...stream.lineHead, chunk.subarray(lineFrom, end)], lineEnd);
      stream.lineStart = stream.held.length + searchFrom - eventStart;
    } else {
      // A cut-off event must come again, so an id only counts with its complete event.
      stream.lastEventId = stream.fields.id ?? stream.lastEventId;
      const event = takeEvent(stream, chunk.subarray(eventStart, searchFrom));
      // Many clients wait for the next byte before they accept a CR as a line end.
      if (chunk[searchFrom - 1] === carriageReturn) event.parts.push(Uint8Array.of(lineFeed));
      events.push(event);
      eventStart = searchFrom;
    }
    if (stream.lineHead.length > 0) stream.lineHead = [];
    lineFrom = searchFrom;
  }
  const isHeadOpen = stream.held.length - stream.lineStart <= maxFieldLength;
  if (isHeadOpen && lineFrom < chunk.length) stream.lineHead.push(chunk.subarray(lineFrom));
  if (eventStart < chunk.length) stream.held.add(chunk.subarray(eventStart));
  return events;
}

/**
 * Cuts an SSE stream into events without decoding them. The bulk of an answer is one `data` line, and it
 * is passed on unchanged. (Parsing and printing each event with a library costs several times as much;
 * see docs/reports/benchmarks.md.) Lines end with LF, CRLF or CR. An event that ends with a CR is passed on with CRLF.
 *
 * @see https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation
 */
export function createEventSplitter() {
  const stream: ReadStream = {
    ...{ lastEventId: undefined, retryMs: undefined, start: noBytes, isAfterReturn: false },
    ...{ held: createPartCollector(), lineStart: 0, lineHead: [], fields: noFields },
  };
  return {
    /** The `id` of the last complete event that had one. The stream can be resumed from it. */
    get lastEventId() {
      return stream.lastEventId;
    },
    /** The held bytes of an incomplete event. */
    get pendingBytes() {
      return stream.held.length;
    },
    /** The last `retry` seen, in milliseconds. */
    get retryMs() {
      return stream.retryMs;
    },
    /** The events that a chunk completes. */
    push: (received: Uint8Array) => readChunk(stream, withoutMark(stream, received)),
    /** The rest after the last complete event, as if it were complete. Starts anew. */
    finish() {
      // What comes next is another stream.
      stream.start = noBytes;
      stream.isAfterReturn = false;
      const { held, lineHead } = stream;
      if (stream.lineStart < held.length) readLine(stream, lineHead, held.length);
      stream.lineHead = [];
      return held.length === 0 ? undefined : takeEvent(stream, noBytes);
    },
  };
}

/** The parts of an event whose data are several lines. */
function joinDataLines(text: string): NonNullable<EventBytes["multiline"]> {
  const dataLines: string[] = [];
  const otherLines: string[] = [];
  for (const line of text.split(/\r\n|\n|\r/)) {
    const [isData, value = ""] = /^data(?:$|: ?)(.*)/s.exec(line) ?? [];
    if (isData !== undefined) dataLines.push(value);
    else if (line !== "") otherLines.push(line);
  }
  return { data: dataLines.join("\n"), otherLines };
}

/**
 * `bytes.indexOf(byte, from)`. V8's own function looks at one byte after the other. That was half of the
 * cost of a large SSE answer. Node's function, where it exists, is twenty times as fast (see
 * docs/reports/benchmarks.md).
 */
export function indexOfByte(bytes: Uint8Array, byte: number, from: number): number {
  const { Buffer = Uint8Array } = globalThis as { Buffer?: { readonly prototype: Uint8Array } };
  return Buffer.prototype.indexOf.call(bytes, byte, from);
}
