import { describe, expect, test } from "vitest";
import { renderTable } from "./table.ts";

describe("renderTable", () => {
  test("wraps the last column to the width of the terminal", () => {
    const text = renderTable([["a name", "words ".repeat(40).trim()]], { width: 50 });
    expect(Math.max(...text.split("\n").map((line) => line.length))).toBeLessThanOrEqual(50);
    expect(text.match(/words/g)).toHaveLength(40);
  });

  test("has no colour, and takes what would write over the terminal out of its cells", () => {
    const text = renderTable([["\u001b[2Ja", "b\rc\u202e"]], { head: ["one", "two"], width: 80 });
    // oxlint-disable-next-line no-control-regex
    expect(text).not.toMatch(/[\u001b\r\u202e]/);
    expect(text).toContain("b c");
  });

  test("cuts a cell of any length, whether it is one line or very many", () => {
    for (const cell of ["x".repeat(1_000_000), "x\n".repeat(1_000_000)]) {
      const text = renderTable([["a", cell]], { width: 80 });
      expect(text).toContain("…");
      expect(text.match(/x/g)!.length).toBeLessThanOrEqual(1_000);
    }
  });
});
