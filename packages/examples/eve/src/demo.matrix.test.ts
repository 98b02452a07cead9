import { expect, test } from "vitest";
import { jsonLines, runDemo } from "../../test/run-demo.ts";

const demo = new URL("demo.ts", import.meta.url);
const oldNode = Number.parseInt(process.versions.node, 10) < 24;
if (oldNode) console.warn("skipped: eve needs Node 24");

interface Line {
  by: string;
  pid: number;
  session: number;
  calls: number;
  requests: number;
  text: string;
}

test.skipIf(oldNode)(
  "tools on durable sessions keep one MCP session over eve's processes; eve's own connection keeps none",
  async () => {
    const lines = jsonLines<Line>(await runDemo(demo, ["--json"]));
    const [durable, own] = [lines.slice(0, 4), lines.slice(4)];
    const figures = (line: Line) => [line.by, line.session, line.calls, line.requests, line.text];
    expect(durable.map(figures)).toEqual([
      ["durable-mcp", 1, 2, 5, "The cart holds apples, bread."],
      ["durable-mcp", 1, 1, 1, "The cart holds apples, bread, milk."],
      ["durable-mcp", 1, 1, 1, "The cart holds apples, milk."],
      ["durable-mcp", 1, 1, 1, "The cart holds apples, milk."],
    ]);
    // eve's client asks for the revision, listens, makes the handshake, lists and calls, in each step.
    expect(own.map(figures)).toEqual([
      ["eve", 2, 2, 14, "The cart holds bread."],
      ["eve", 3, 1, 7, "The cart holds milk."],
      ["eve", 4, 1, 7, "The cart is empty."],
      ["eve", 5, 1, 7, "The cart is empty."],
    ]);
    expect(new Set(lines.map(({ pid }) => pid)).size).toBe(8);
  },
  300_000,
);
