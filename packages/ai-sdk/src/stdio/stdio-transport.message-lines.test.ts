import fc from "fast-check";
import { expect, test } from "vitest";
import { createLineSplitter } from "./stdio-transport.ts";

test("gives the same lines, wherever the stream is cut", () => {
  const line = fc.string({ unit: "grapheme" }).map((text) => text.replaceAll(/[\r\n]/g, ""));
  fc.assert(
    fc.property(fc.array(line), fc.array(fc.nat()), (lines, cuts) => {
      const bytes = Buffer.from(lines.map((text) => `${text}\n`).join(""));
      const edges = [...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length].toSorted(
        (a, b) => a - b,
      );
      const split = createLineSplitter();
      const found = edges.flatMap((edge, index) =>
        split(bytes.subarray(edges[index - 1] ?? 0, edge)),
      );
      expect(found).toEqual(lines);
    }),
  );
});

test("takes CR LF for an end, and holds a line until its end", () => {
  const split = createLineSplitter();
  expect(split(Buffer.from("a\r\nb"))).toEqual(["a"]);
  expect(split(Buffer.from("c"))).toEqual([]);
  expect(split(Buffer.from("\n"))).toEqual(["bc"]);
});

test("refuses a line without end", () => {
  const split = createLineSplitter();
  const chunk = Buffer.alloc(16 * 1024 * 1024, "x");
  expect(() => {
    for (let part = 0; part < 5; part += 1) split(chunk);
  }).toThrow(RangeError);
});
