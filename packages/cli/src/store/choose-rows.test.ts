import { describe, expect, test } from "vitest";
import { rowsNamed } from "./choose-rows.ts";
import type { Row } from "./look.ts";

const rows = ["abcdef", "abcdxy", "zyxwvu"].map((row) => ({ row }) as Row);
const named = (...names: string[]) => rowsNamed(rows, names).map(({ row }) => row);

describe("rows are chosen", () => {
  test("by their names, or the start of them", () => {
    expect(named("abcdef", "ZYXW", "abcdx")).toEqual(["abcdef", "zyxwvu", "abcdxy"]);
    expect(named("abcdef", "abcde")).toEqual(["abcdef"]);
  });

  test("by no name of several rows, of none, or of a few characters", () => {
    expect(() => named("abcd")).toThrow("that is the name of several");
    expect(() => named("qqqqqq")).toThrow("nothing here has that name");
    expect(() => named("zyx")).toThrow("4 characters or more");
  });
});
