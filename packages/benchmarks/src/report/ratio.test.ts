import { describe, expect, test } from "vitest";
import { medianRatio, verdictOf } from "./ratio.ts";

const ones = (count: number) => Array.from({ length: count }, () => 1);
const numbers = (count: number) => Array.from({ length: count }, (_, n) => count - n);

describe("medianRatio", () => {
  test("takes the median of the ratios of the rounds, not the ratio of the medians", () => {
    expect(medianRatio([1, 20, 300], [1, 10, 100]).ratio).toBe(2);
  });

  test("lies between the two in the middle of an even number", () => {
    expect(medianRatio([4, 1, 2, 3], ones(4)).ratio).toBe(2.5);
  });

  // Of a table of the sign test: e.g. Conover, "Practical Nonparametric Statistics".
  test.each([
    [6, 1, 6],
    [8, 1, 8],
    [9, 2, 8],
    [20, 6, 15],
    [25, 8, 18],
    [50, 18, 33],
    [100, 40, 61],
  ])("bounds the median of %i rounds with the ratios %i and %i", (count, low, high) => {
    expect(medianRatio(numbers(count), ones(count))).toMatchObject({ low, high });
  });

  test("bounds nothing with fewer than six rounds", () => {
    expect(medianRatio(numbers(5), ones(5))).toEqual({ ratio: 3, low: 0, high: Infinity });
  });

  test("stays exact with many rounds", () => {
    expect(medianRatio(numbers(1_000), ones(1_000))).toMatchObject({ low: 469, high: 532 });
    expect(medianRatio(numbers(4_000), ones(4_000))).toMatchObject({ low: 1_938, high: 2_063 });
  });

  test("refuses sides of different lengths, and none", () => {
    expect(() => medianRatio([1, 2], [1])).toThrow(RangeError);
    expect(() => medianRatio([], [])).toThrow(RangeError);
  });
});

describe("verdictOf", () => {
  const measured = { ratio: 0.95, low: 0.9, high: 1 };
  test.each([
    [{ atLeast: 0.9 }, "met"],
    [{ atLeast: 0.91 }, "open"],
    [{ atLeast: 1.01 }, "missed"],
    [{ atMost: 1 }, "met"],
    [{ atMost: 0.99 }, "open"],
    [{ atMost: 0.89 }, "missed"],
  ] as const)("measures both bounds against %o: %s", (target, verdict) => {
    expect(verdictOf({ ...measured, target })).toBe(verdict);
  });

  test("is open while nothing is bounded", () => {
    const unbounded = medianRatio([1], [1]);
    expect(verdictOf({ ...unbounded, target: { atMost: 2 } })).toBe("open");
    expect(verdictOf({ ...unbounded, target: { atLeast: 0.5 } })).toBe("open");
  });
});
