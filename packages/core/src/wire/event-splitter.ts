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

/**
 * Cuts an SSE stream into events without decoding them. The bulk of an answer is one `data` line, and it
 * is passed on unchanged. (Parsing and printing each event with a library costs several times as much;
 * see docs/reports/benchmarks.md.) Lines end with LF, CRLF or CR. An event that ends with a CR is passed on with CRLF.
 *
 * @see https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation
 */
// oxlint-disable-next-line max-lines-per-function -- one pass over the bytes: its parts share each variable
export function createEventSplitter() {
  let lastEventId: string | undefined;
  let retryMs: number | undefined;
  /** The stream's first bytes, as long as they may become a byte order mark. */
  let start: Uint8Array | undefined = noBytes;

  // The event under way, the start of its current line in it, and the line's first bytes so far. Each
  // byte is read a fixed number of times, however small the chunks and however many lines and chunks.
  let held = createPartCollector();
  let lineStart = 0;
  let lineHead: Uint8Array[] = [];
  let type = "";
  let eventId: string | undefined;
  let idLine: EventBytes["idLine"];
  let dataLines = 0;
  let data: EventBytes["data"];
  /** Whether the last byte so far is a CR that ended a line. A following LF belongs to it. */
  let isAfterReturn = false;

  /** Reads a line of the event, from its first bytes. */
  const readLine = (line: ByteParts, end: number) => {
    // The line of the data may be long, and is most lines.
    const head = line.length === 1 ? line[0]! : joined(partsBetween(line, 0, 6));
    const isField = dataField.every((byte, at) => byte === head[at]);
    if (isField && (end - lineStart === 4 || head[4] === colon)) {
      dataLines += 1;
      data = { start: Math.min(lineStart + (head[5] === space ? 6 : 5), end), end };
      return;
    }
    const text = partsText(line, 0, Math.min(maxFieldLength, end - lineStart));
    if (end - lineStart > maxFieldLength) {
      // A type of that length is not "message".
      if (text.startsWith("event:")) type = "other";
      return;
    }
    const [, name, value = ""] = /^(id|event|retry)(?:: ?(.*))?$/s.exec(text) ?? [];
    if (name === "event") type = value;
    else if (name === "id" && !value.includes("\0")) {
      eventId = value;
      idLine = { start: lineStart, end };
    }
    if (name === "retry" && /^\d+$/.test(value)) retryMs = pauseOf(Number(value));
  };

  const take = (last: Uint8Array): EventBytes => {
    const parts = [...held.parts, last];
    const isMultiline = dataLines > 1;
    const event: EventBytes = {
      parts,
      type,
      data: isMultiline ? undefined : data,
      multiline: isMultiline ? joinDataLines(partsText(parts, 0, Infinity)) : undefined,
      id: lastEventId,
      idLine,
    };
    if (held.length > 0) held = createPartCollector();
    lineStart = 0;
    type = "";
    eventId = undefined;
    idLine = undefined;
    dataLines = 0;
    data = undefined;
    return event;
  };

  /** The chunk without the stream's byte order mark, which may come in pieces. */
  const withoutMark = (chunk: Uint8Array): Uint8Array => {
    if (start?.length === 0 && chunk.length > 0 && chunk[0] !== byteOrderMark[0]) start = undefined;
    if (start === undefined) return chunk;
    const bytes = start.length === 0 ? chunk : joined([start, chunk]);
    const isMark = byteOrderMark.every((byte, at) => at >= bytes.length || byte === bytes[at]);
    start = isMark && bytes.length < byteOrderMark.length ? bytes : undefined;
    if (start !== undefined) return noBytes;
    return isMark ? bytes.subarray(byteOrderMark.length) : bytes;
  };

  return {
    /** The `id` of the last complete event that had one. The stream can be resumed from it. */
    get lastEventId() {
      return lastEventId;
    },
    /** The held bytes of an incomplete event. */
    get pendingBytes() {
      return held.length;
    },
    /** The last `retry` seen, in milliseconds. */
    get retryMs() {
      return retryMs;
    },
    /** The events that a chunk completes. */
    push(received: Uint8Array) {
      const chunk = withoutMark(received);
      const events: EventBytes[] = [];
      /** The parts of the chunk that belong to the event and the line under way begin here. */
      let eventStart = 0;
      let lineFrom = 0;
      let searchFrom = 0;
      if (isAfterReturn && chunk[0] === lineFeed) {
        searchFrom = 1;
        lineFrom = 1;
        // If the CR ended an event, the event was passed on with an LF already.
        if (held.length === 0) eventStart = 1;
        else lineStart = held.length + 1;
      }
      if (chunk.length > 0) isAfterReturn = chunk.at(-1) === carriageReturn;
      let newline = -2;
      let carriage = -2;
      for (;;) {
        // The search is expensive, so its last result is used until the search passes it.
        if (newline !== -1 && newline < searchFrom) {
          newline = indexOfByte(chunk, lineFeed, searchFrom);
        }
        if (carriage !== -1 && carriage < searchFrom) {
          carriage = indexOfByte(chunk, carriageReturn, searchFrom);
        }
        const hasReturn = carriage !== -1 && (newline === -1 || carriage < newline);
        const end = hasReturn ? carriage : newline;
        if (end === -1) break;
        searchFrom = hasReturn && newline === end + 1 ? end + 2 : end + 1;
        const lineEnd = held.length + end - eventStart;
        if (lineEnd > lineStart) {
          readLine([...lineHead, chunk.subarray(lineFrom, end)], lineEnd);
          lineStart = held.length + searchFrom - eventStart;
        } else {
          // A cut-off event must come again, so an id only counts with its complete event.
          lastEventId = eventId ?? lastEventId;
          const event = take(chunk.subarray(eventStart, searchFrom));
          // Many clients wait for the next byte before they accept a CR as a line end.
          if (chunk[searchFrom - 1] === carriageReturn) event.parts.push(Uint8Array.of(lineFeed));
          events.push(event);
          eventStart = searchFrom;
        }
        if (lineHead.length > 0) lineHead = [];
        lineFrom = searchFrom;
      }
      const isHeadOpen = held.length - lineStart <= maxFieldLength;
      if (isHeadOpen && lineFrom < chunk.length) lineHead.push(chunk.subarray(lineFrom));
      if (eventStart < chunk.length) held.add(chunk.subarray(eventStart));
      return events;
    },
    /** The rest after the last complete event, as if it were complete. Starts anew. */
    finish() {
      // What comes next is another stream.
      start = noBytes;
      isAfterReturn = false;
      const isLineOpen = lineStart < held.length;
      if (isLineOpen) readLine(lineHead, held.length);
      lineHead = [];
      return held.length === 0 ? undefined : take(noBytes);
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
