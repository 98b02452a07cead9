import { type ByteParts, partsLength, partsText } from "./byte-parts.ts";
import { indexOfByte } from "./index-of-byte.ts";

/** One event of an SSE stream as the bytes it came in, its final blank line included. */
export interface EventBytes {
  readonly parts: Uint8Array[];
  /** The value of its `event` field; "" when it has none, which means "message". */
  readonly type: string;
  /** Where the value of its `data` field is; `undefined` when it has none. */
  readonly data: { readonly start: number; readonly end: number } | undefined;
  /** Set instead of `data` when the field is spread over several lines. */
  readonly multiline: { readonly data: string; readonly otherLines: string[] } | undefined;
}

/** The event's data as text, its lines joined. */
export function eventText({ parts, data, multiline }: EventBytes): string {
  return data ? partsText(parts, data.start, data.end) : (multiline?.data ?? "");
}

/**
 * Cuts an SSE stream into events without decoding them: the bulk of an answer is one `data` line
 * that is passed on as it came. (Parsing and printing each event with a library costs several
 * times as much; see docs/decisions.) Lines end with LF, CRLF or CR;
 * an event that ends with a CR goes on with CRLF.
 *
 * @see https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation
 */
export interface EventSplitter {
  /** The events that `chunk` completes. */
  push(chunk: Uint8Array): EventBytes[];
  /** What came after the last complete event, as if it were complete. Starts anew. */
  finish(): EventBytes | undefined;
  /** The `id` of the last complete event that had one: where the stream can be resumed. */
  readonly lastEventId: string | undefined;
  /** How much of an event that is not complete is held, in bytes. */
  readonly pendingBytes: number;
  /** The last `retry` seen, in milliseconds. */
  readonly retryMs: number | undefined;
}

const lineFeed = 10;
const carriageReturn = 13;
/** Field lines other than `data` are short; a longer one is passed on unread. */
const maxFieldLength = 4096;

export function createEventSplitter(): EventSplitter {
  let lastEventId: string | undefined;
  let retryMs: number | undefined;

  // The event being collected: whole chunks, and where its current line starts in them.
  let parts: Uint8Array[] = [];
  let length = 0;
  let lineStart = 0;
  let type = "";
  let eventId: string | undefined;
  let dataLines: { start: number; end: number }[] = [];
  /** Whether the last byte so far is a CR, which ended a line: an LF would belong to it. */
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
      // Whatever type that is, it is no message.
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
        // When the CR ended an event, that went on with an LF already.
        if (length === 0) eventStart = 1;
        else lineStart = length + 1;
      }
      if (chunk.length > 0) isAfterReturn = chunk.at(-1) === carriageReturn;
      let newline = -2;
      let carriage = -2;
      for (;;) {
        // The search is what costs: one that found nothing, or something further on, still holds.
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
          // Only the line that came in several chunks needs those before: there may be very many.
          if (lineStart < length) readLine([...parts, rest], 0, lineEnd);
          else readLine([rest], length, lineEnd);
          lineStart = length + searchFrom - eventStart;
        } else {
          // An event that is cut off must come again, so its id counts only now.
          lastEventId = eventId ?? lastEventId;
          const event = take(chunk.subarray(eventStart, searchFrom));
          // Many clients wait for what follows a CR before they take it for a line end.
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
