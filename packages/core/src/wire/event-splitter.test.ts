import { createParser, type EventSourceMessage } from "eventsource-parser";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseEvents } from "../../test/parse-events.ts";
import { partsText } from "./byte-parts.ts";
import { createEventSplitter, type EventBytes } from "./event-splitter.ts";

const encode = (text: string) => new TextEncoder().encode(text);

function dataOf({ data, multiline, parts }: EventBytes): string | undefined {
  return data ? partsText(parts, data.start, data.end) : multiline?.data;
}

/** Splits bytes at the given distances; the rest is the last chunk. */
function cut(bytes: Uint8Array, sizes: number[]): Uint8Array[] {
  const chunks: Uint8Array[] = [];
  let start = 0;
  for (const size of sizes) {
    chunks.push(bytes.subarray(start, start + size));
    start += size;
  }
  return [...chunks, bytes.subarray(start)];
}

const value = fc.string({ unit: fc.constantFrom("a", "ä", "😀", " ", ":", '"', "\u2028") });
const line = fc.oneof(
  value.map((text) => `data: ${text}`),
  value.map((text) => `data:${text}`),
  value.map((text) => `: ${text}`),
  fc.constantFrom("data", "event: message", "event: other", "id: 7", "id:8", "retry: 12", "x: y"),
);
const stream = fc
  .tuple(
    fc.array(fc.array(line, { maxLength: 5 }), { maxLength: 5 }),
    // One kind of line end throughout, or any mixture.
    fc.oneof(
      fc.constantFrom(["\n"], ["\r\n"], ["\r"]),
      fc.array(fc.constantFrom("\n", "\r\n", "\r"), { minLength: 1, maxLength: 9 }),
    ),
    fc.constantFrom("", "\uFEFF"),
  )
  .map(([events, newlines, mark]) => {
    const lines = events.flatMap((event) => [...event, ""]);
    return mark + lines.map((text, n) => text + newlines[n % newlines.length]!).join("");
  });

const unify = (ends: string) => ends.replaceAll(/\r\n|\r/g, "\n");

test("finds what a plain parser finds, at any chunk boundary, with any line ends", () => {
  fc.assert(
    fc.property(stream, fc.array(fc.nat(12)), (text, sizes) => {
      const expected = parseEvents(text);
      const splitter = createEventSplitter();
      const events = cut(encode(text), sizes).flatMap((chunk) => splitter.push(chunk));
      const withData = events
        .map((event) => ({ type: event.type, data: dataOf(event) }))
        .filter(({ data }) => data !== undefined);
      expect(withData).toEqual(expected.events);
      expect(splitter.lastEventId).toBe(expected.lastEventId);
      expect(splitter.retryMs).toBe(expected.retryMs);
      // Nothing is lost or added on the way, line ends and a byte order mark aside.
      const rest = splitter.finish();
      const passedOn = [...events, ...(rest ? [rest] : [])].flatMap(({ parts }) => parts);
      expect(unify(Buffer.concat(passedOn).toString())).toBe(unify(text.replace(/^\uFEFF/, "")));
    }),
    { numRuns: 2_000 },
  );
});

/** What the reference parser finds in a whole text. */
function parseWithReference(text: string) {
  const events: EventSourceMessage[] = [];
  const retries: number[] = [];
  const parser = createParser({
    onEvent: (event) => events.push(event),
    onRetry: (retry) => retries.push(retry),
  });
  parser.feed(text);
  return { events, retryMs: retries.at(-1) };
}

test("agrees with eventsource-parser, also on the parts of an event whose data are several lines", () => {
  fc.assert(
    fc.property(stream, fc.array(fc.integer({ min: 1, max: 9 })), (text, sizes) => {
      const expected = parseWithReference(text);
      const splitter = createEventSplitter();
      const events = cut(encode(text), sizes).flatMap((chunk) => splitter.push(chunk));
      // Printed again from its parts, each event is still the same for the other parser.
      const printed = events.map((event) => {
        const { multiline, parts } = event;
        if (multiline === undefined) return Buffer.concat(parts).toString();
        const dataLines = multiline.data.split("\n").map((part) => `data: ${part}`);
        return [...multiline.otherLines, ...dataLines, "", ""].join("\n");
      });
      expect(parseWithReference(printed.join("")).events).toEqual(expected.events);
      const withData = events.filter((event) => dataOf(event) !== undefined);
      expect(withData.map(dataOf)).toEqual(expected.events.map(({ data }) => data));
      expect(withData.map(({ type }) => type || undefined)).toEqual(
        expected.events.map(({ event }) => event),
      );
      expect(splitter.retryMs).toBe(expected.retryMs);
    }),
    { numRuns: 2_000, seed: 13 },
  );
});

test("leaves out a byte order mark at the start of each stream, in any pieces, and nothing else", () => {
  const splitter = createEventSplitter();
  const texts = ["\uFEFFdata: a\ndata: b\n\n", "\uFEFF\uFEFFdata: a\n\n"];
  for (const size of [1, 2, 3, 4, 100]) {
    for (const text of texts) {
      const bytes = encode(text);
      const chunks = cut(
        bytes,
        Array.from({ length: Math.ceil(bytes.length / size) }, () => size),
      );
      const passedOn = chunks
        .flatMap((chunk) => splitter.push(chunk))
        .flatMap((event) => event.parts);
      expect(Buffer.concat(passedOn).toString()).toBe(text.slice(1));
      splitter.finish();
    }
  }
  // Half a mark is none, and what comes after it may be large.
  const half = Uint8Array.of(0xef, 0xbb);
  splitter.push(half);
  const [event] = splitter.push(encode(`data: ${"a".repeat(1_000_000)}\n\n`));
  expect(event?.data).toBeUndefined();
  expect([...event!.parts[0]!.subarray(0, 2)]).toEqual([...half]);
});

describe("resumption fields", () => {
  test("counts an id only once its event is complete", () => {
    const splitter = createEventSplitter();
    splitter.push(encode("id: 1\ndata: a\n\nid: 2\ndata: b\n"));
    expect(splitter.lastEventId).toBe("1");
    splitter.push(encode("\n"));
    expect(splitter.lastEventId).toBe("2");
  });

  test("does not count the id of an event that was cut off, also not later", () => {
    const splitter = createEventSplitter();
    splitter.push(encode("id: 1\ndata: a\n\nid: 2\nda"));
    splitter.finish();
    splitter.push(encode("data: b\n\n"));
    expect(splitter.lastEventId).toBe("1");
  });

  test("counts the id of an event without data, and keeps it over events without id", () => {
    const splitter = createEventSplitter();
    splitter.push(encode("id: 1\nretry: 20\n\ndata: b\n\n"));
    expect(splitter.lastEventId).toBe("1");
    expect(splitter.retryMs).toBe(20);
  });

  test("forgets the position when the server resets it with an empty id", () => {
    const splitter = createEventSplitter();
    splitter.push(encode("id: 1\n\nid\ndata: b\n\n"));
    expect(splitter.lastEventId).toBe("");
  });

  test("ignores ids with NUL and a retry that is no number", () => {
    const splitter = createEventSplitter();
    splitter.push(encode("id: 1\n\nid: a\0b\nretry: soon\n\n"));
    expect(splitter.lastEventId).toBe("1");
    expect(splitter.retryMs).toBeUndefined();
  });
});

test("gives the unfinished event at the end as if it were complete", () => {
  const splitter = createEventSplitter();
  expect(splitter.push(encode('data: {"a":1}'))).toEqual([]);
  const rest = splitter.finish();
  expect(rest && dataOf(rest)).toBe('{"a":1}');
  expect(splitter.finish()).toBeUndefined();
});

test("reads an event of very many lines in very many chunks, each line once", () => {
  const splitter = createEventSplitter();
  const comment = encode(": ping\n");
  for (let count = 0; count < 100_000; count += 1) splitter.push(comment);
  const [event] = splitter.push(encode("data: a\n\n"));
  expect(event && dataOf(event)).toBe("a");
});

/** Bytes that count how often anybody looks at their length: once or more for each look at a part. */
class CountedBytes extends Uint8Array {
  static looks = 0;
}
Object.defineProperty(CountedBytes.prototype, "length", {
  get(this: CountedBytes) {
    CountedBytes.looks += 1;
    return this.byteLength;
  },
});

const fill = (length: number, text: string) => text.repeat(Math.ceil(length / text.length));

test.each([
  ["one line", (length: number) => `data: ${fill(length, "x")}\n\n`],
  ["lines of data", (length: number) => `${fill(length, "data: 1\n")}\n`],
  ["comments", (length: number) => `${fill(length, ": c\n")}data: 1\n\n`],
  ["long lines", (length: number) => `${fill(length, `${fill(5_000, "y")}\r`)}\n`],
  ["events", (length: number) => fill(length, "id: 1\ndata: 1\n\n")],
])("looks at each chunk of 4 bytes a few times, however many there are: %s", (_, of) => {
  const bytes = encode(of(160_000));
  const splitter = createEventSplitter();
  CountedBytes.looks = 0;
  let chunks = 0;
  for (let start = 0; start < bytes.length; start += 4) {
    splitter.push(CountedBytes.from(bytes.subarray(start, start + 4)));
    chunks += 1;
  }
  // With work for each pair of chunks, it would be 20,000 and more.
  expect(CountedBytes.looks / chunks).toBeLessThan(40);
});

test("holds very small chunks in few parts", () => {
  const splitter = createEventSplitter();
  const [event] = [...encode(`data: ${"x".repeat(200_000)}\n\n`)].flatMap((byte) =>
    splitter.push(Uint8Array.of(byte)),
  );
  expect(event?.parts.length).toBeLessThan(20);
  expect(event && dataOf(event)?.length).toBe(200_000);
});
