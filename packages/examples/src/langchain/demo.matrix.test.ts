import { expect, test } from "vitest";
import { jsonLines, runDemo } from "../../test/run-demo.ts";

const demo = new URL("demo.ts", import.meta.url);

test("a LangChain agent keeps one session over processes, and its model learns of a loss", async () => {
  const lines = jsonLines<{ pid: number }>(await runDemo(demo, ["--json"]));
  const pid: unknown = expect.any(Number);
  const kept = { pid, resumed: false, recovered: false };
  expect(lines).toEqual([
    {
      ...kept,
      ...{ step: 1, session: 1, calls: 2 },
      // The handshake takes two requests and the tool list one.
      requests: 5,
      text: "The cart holds apples, bread.",
    },
    {
      ...kept,
      ...{ step: 2, session: 1, resumed: true, calls: 1 },
      requests: 1,
      text: "The cart holds apples, bread, milk.",
    },
    {
      ...kept,
      ...{ step: 3, session: 2, recovered: true, calls: 1 },
      // The refused call, the handshake and the tool list, the call again, the end of the lost session.
      requests: 6,
      text: "The cart is empty. The shop has forgotten it.",
    },
  ]);
  expect(new Set(lines.map((line) => line.pid)).size).toBe(3);
});
