import fc from "fast-check";
import { expect, test } from "vitest";
import { inChunks, partsBetween, partsLength, partsText, replaceBytes } from "./byte-parts.ts";

const cutText = fc
  .tuple(fc.string({ unit: "binary" }), fc.array(fc.nat(20)))
  .map(([text, cuts]) => {
    const bytes = new TextEncoder().encode(text);
    const parts: Uint8Array[] = [];
    let start = 0;
    for (const cut of cuts) {
      parts.push(bytes.subarray(start, start + cut));
      start = Math.min(start + cut, bytes.length);
    }
    return { bytes, parts: [...parts, bytes.subarray(start)] };
  });

const join = (parts: readonly Uint8Array[]) => Buffer.concat(parts);

test("reads the same bytes and text however they are cut", () => {
  fc.assert(
    fc.property(cutText, fc.nat(60), fc.nat(60), ({ bytes, parts }, start, end) => {
      const expected = bytes.subarray(start, Math.max(start, end));
      expect(partsLength(parts)).toBe(bytes.length);
      expect(join(partsBetween(parts, start, end))).toEqual(Buffer.from(expected));
      expect(partsText(parts, start, end)).toBe(Buffer.from(expected).toString());
    }),
  );
});

test("replaces a range and leaves the bytes around it", () => {
  fc.assert(
    fc.property(
      cutText,
      fc.nat(20),
      fc.nat(20),
      fc.string(),
      ({ bytes, parts }, from, size, text) => {
        const start = Math.min(from, bytes.length);
        const end = Math.min(start + size, bytes.length);
        expect(join(replaceBytes(parts, { start, end, text }))).toEqual(
          join([bytes.subarray(0, start), Buffer.from(text), bytes.subarray(end)]),
        );
      },
    ),
  );
});

test("shows a character cut in half as U+FFFD", () => {
  expect(partsText([new TextEncoder().encode("ä")], 0, 1)).toBe("\uFFFD");
});

const isLong = (length: number) => length > 65_536;

test("puts pieces together into chunks of up to 64 KB, which are never empty", () => {
  const sizes = fc.array(fc.oneof(fc.nat(100), fc.nat(70_000)), { maxLength: 20 });
  fc.assert(
    fc.property(sizes, (lengths) => {
      const parts = lengths.map((length, n) => new Uint8Array(length).fill(n));
      const chunks = inChunks(parts);
      expect(join(chunks).equals(join(parts))).toBe(true);
      // A longer one is a piece that was as long before.
      const joinedTo = chunks.map(({ length }) => length);
      expect(joinedTo.filter((length) => length === 0)).toEqual([]);
      expect(joinedTo.filter(isLong)).toEqual(lengths.filter(isLong));
      const small = inChunks(parts.filter((part) => part.length <= 100));
      expect(small.length).toBeLessThanOrEqual(1);
    }),
    { numRuns: 40 },
  );
});
