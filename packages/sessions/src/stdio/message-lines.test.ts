import fc from "fast-check";
import { expect, test } from "vitest";
import { createLineReader } from "./message-lines.ts";

function createSplit() {
  let lines: string[] = [];
  const read = createLineReader(
    (line) => lines.push(line.toString()),
    ({ head, tail }) => lines.push(`${head.toString()} … ${tail.toString()}`),
  );
  return (chunk: Buffer): string[] => {
    lines = [];
    read(chunk);
    return lines;
  };
}

test("gives the same lines, wherever the stream is cut", () => {
  const line = fc.string({ unit: "grapheme" }).map((text) => text.replaceAll("\n", ""));
  fc.assert(
    fc.property(fc.array(line), fc.array(fc.nat()), (lines, cuts) => {
      const bytes = Buffer.from(lines.map((text) => `${text}\n`).join(""));
      const edges = [...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length].toSorted(
        (a, b) => a - b,
      );
      const split = createSplit();
      const found = edges.flatMap((edge, index) =>
        split(bytes.subarray(edges[index - 1] ?? 0, edge)),
      );
      expect(found).toEqual(lines);
    }),
  );
});

test("holds a line until its end", () => {
  const split = createSplit();
  expect(split(Buffer.from("a\nb"))).toEqual(["a"]);
  expect(split(Buffer.from("c"))).toEqual([]);
  expect(split(Buffer.from("\n"))).toEqual(["bc"]);
});

test("takes a line of 64 MiB, in chunks of a few bytes too", () => {
  const split = createSplit();
  const chunk = Buffer.alloc(1024, "x");
  for (let part = 0; part < 65_535; part += 1) split(chunk);
  const few = Buffer.alloc(2, "x");
  for (let part = 0; part < 512; part += 1) split(few);
  const [line = ""] = split(Buffer.from("\n"));
  expect(line).toHaveLength(64 * 1024 * 1024);
});

test("keeps only the ends of a longer line, and goes on after it", () => {
  const split = createSplit();
  split(Buffer.from("ok\nbegin"));
  const chunk = Buffer.alloc(1024 * 1024, "x");
  const before = process.memoryUsage().arrayBuffers;
  for (let part = 0; part < 300; part += 1) expect(split(chunk)).toEqual([]);
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(160 * 1024 * 1024);
  const [long = "", ...others] = split(Buffer.from("end\nok\n"));
  expect([long.slice(0, 6), long.slice(-4), long.length]).toEqual(["beginx", "xend", 1_027]);
  expect(others).toEqual(["ok"]);
});

test("keeps the ends of one chunk that is too long", () => {
  const split = createSplit();
  const chunk = Buffer.alloc(65 * 1024 * 1024, "x");
  chunk.write("begin");
  chunk.write("end\n", chunk.length - 4);
  const [long = ""] = split(chunk);
  expect([long.slice(0, 6), long.slice(-4), long.length]).toEqual(["beginx", "xend", 1_027]);
});
