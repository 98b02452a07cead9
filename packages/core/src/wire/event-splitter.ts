import { type ByteParts, partsLength, partsText } from "./byte-parts.ts";

/** One event of an SSE stream as it arrived, in bytes, including its final blank line. */
export interface EventBytes {
  readonly parts: Uint8Array[];
  /** The value of its `event` field; "" without the field, which means "message". */
  readonly type: string;
  /** The place of its `data` field's value; `undefined` without the field. */
  readonly data: { readonly start: number; readonly end: number } | undefined;
  /** Set instead of `data` if the field is spread over several lines. */
  readonly multiline: { readonly data: string; readonly otherLines: string[] } | undefined;
}

/** The event's data as text, its lines joined. */
export function eventText({ parts, data, multiline }: EventBytes): string {
  return data ? partsText(parts, data.start, data.end) : (multiline?.data ?? "");
}

/**
 * Cuts an SSE stream into events without decoding them. The bulk of an answer is one `data` line, and it
 * is passed on unchanged. (Parsing and printing each event with a library costs several times as much;
 * see docs/decisions.) Lines end with LF, CRLF or CR. An event that ends with a CR is passed on with CRLF.
 *
 * @see https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation
 */
export interface EventSplitter {
  /** The events that `chunk` completes. */
  push(chunk: Uint8Array): EventBytes[];
  /** The rest after the last complete event, as if it were complete. Starts anew. */
  finish(): EventBytes | undefined;
  /** The `id` of the last complete event that had one. The stream can be resumed from it. */
  readonly lastEventId: string | undefined;
  /** The held bytes of an incomplete event. */
  readonly pendingBytes: number;
  /** The last `retry` seen, in milliseconds. */
  readonly retryMs: number | undefined;
}

const lineFeed = 10;
const carriageReturn = 13;
/** Field lines other than `data` are short. A longer one is passed on unread. */
const maxFieldLength = 4096;

// oxlint-disable-next-line max-lines-per-function -- one pass over the bytes: its parts share each variable
export function createEventSplitter(): EventSplitter {
  let lastEventId: string | undefined;
  let retryMs: number | undefined;

  // The event under way: its chunks, and the start of its current line in them.
  let parts: Uint8Array[] = [];
  let length = 0;
  let lineStart = 0;
  let type = "";
  let eventId: string | undefined;
  let dataLines: { start: number; end: number }[] = [];
  /** Whether the last byte so far is a CR that ended a line. A following LF belongs to it. */
  let isAfterReturn = false;
  let isFirstLine = true;

  /** Reads the line that ends at `end`; `bytes` begin at `offset` of the event. */
  const readLine = (bytes: ByteParts, offset: number, end: number) => {
    if (isFirstLine && partsText(bytes, 0, 3) === "\uFEFF") lineStart = 3;
    isFirstLine = false;
    const from = lineStart - offset;
    const head = partsText(bytes, from, Math.min(from + 6, end - offset));
    if (head.startsWith("data:")) {
      dataLines.push({ start: lineStart + (head[5] === " " ? 6 : 5), end });
      return;
    }
    if (head === "data") {
      dataLines.push({ start: end, end });
      return;
    }
    if (end - lineStart > maxFieldLength) {
      // A type of that length is not "message".
      if (head === "event:") type = "other";
      return;
    }
    const [, name, value = ""] =
      /^(id|event|retry)(?:: ?(.*))?$/.exec(partsText(bytes, from, end - offset)) ?? [];
    if (name === "event") type = value;
    else if (name === "id" && !value.includes("\0")) eventId = value;
    else if (name === "retry" && /^\d+$/.test(value)) retryMs = Number(value);
  };

  const take = (last: Uint8Array): EventBytes => {
    const all = last.length > 0 ? [...parts, last] : parts;
    const event: EventBytes = {
      parts: all,
      type,
      data: dataLines.length === 1 ? dataLines[0] : undefined,
      multiline:
        dataLines.length > 1
          ? {
              data: dataLines.map(({ start, end }) => partsText(all, start, end)).join("\n"),
              otherLines: partsText(all, 0, partsLength(all))
                .split(/\r\n|\n|\r/)
                .filter((line) => line !== "" && !/^data(:|$)/.test(line)),
            }
          : undefined,
    };
    parts = [];
    length = 0;
    lineStart = 0;
    type = "";
    eventId = undefined;
    dataLines = [];
    return event;
  };

  return {
    get lastEventId() {
      return lastEventId;
    },
    get pendingBytes() {
      return length;
    },
    get retryMs() {
      return retryMs;
    },
    push(chunk) {
      const events: EventBytes[] = [];
      let eventStart = 0;
      let searchFrom = 0;
      if (isAfterReturn && chunk[0] === lineFeed) {
        searchFrom = 1;
        // If the CR ended an event, the event was passed on with an LF already.
        if (length === 0) eventStart = 1;
        else lineStart = length + 1;
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
        const lineEnd = length + end - eventStart;
        if (lineEnd > lineStart) {
          const rest = chunk.subarray(eventStart);
          // Only a line in several chunks needs the earlier chunks, of which there may be very many.
          if (lineStart < length) readLine([...parts, rest], 0, lineEnd);
          else readLine([rest], length, lineEnd);
          lineStart = length + searchFrom - eventStart;
        } else {
          // A cut-off event must come again, so an id only counts with its complete event.
          lastEventId = eventId ?? lastEventId;
          const event = take(chunk.subarray(eventStart, searchFrom));
          // Many clients wait for the next byte before they accept a CR as a line end.
          if (chunk[searchFrom - 1] === carriageReturn) event.parts.push(Uint8Array.of(lineFeed));
          events.push(event);
          eventStart = searchFrom;
        }
      }
      if (eventStart < chunk.length) {
        parts.push(chunk.subarray(eventStart));
        length += chunk.length - eventStart;
      }
      return events;
    },
    finish() {
      if (length === 0) return undefined;
      if (lineStart < length) readLine(parts, 0, length);
      return take(new Uint8Array());
    },
  };
}

/**
 * `bytes.indexOf(byte, from)`. V8's own function looks at one byte after the other. That was half of the
 * cost of a large SSE answer. Node's function, where it exists, is twenty times as fast (see
 * docs/benchmarks.md).
 */
export function indexOfByte(bytes: Uint8Array, byte: number, from: number): number {
  const { Buffer = Uint8Array } = globalThis as { Buffer?: { readonly prototype: Uint8Array } };
  return Buffer.prototype.indexOf.call(bytes, byte, from);
}
