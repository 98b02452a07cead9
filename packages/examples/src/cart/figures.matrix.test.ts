import { expect, test } from "vitest";
import { jsonLines, runDemo } from "../../test/run-demo.ts";

const demo = new URL("demo.ts", import.meta.url);

test("keeps one session over processes, and recovers once from a restart of the server", async () => {
  const lines = jsonLines<{ pid: number }>(await runDemo(demo, ["--json"]));

  expect(lines).toEqual([
    {
      ...started(1, 1),
      calls: 2,
      // The handshake takes two requests and the tool list one.
      requests: 5,
      text: "The cart holds apples, bread.",
    },
    { ...resumed(2, 1), calls: 1, requests: 1, text: "The cart holds apples, bread, milk." },
    { ...resumed(3, 1), calls: 1, requests: 1, text: "The cart holds apples, milk." },
    {
      ...started(4, 2),
      recovered: true,
      calls: 1,
      // The refused call, the handshake and the tool list, the call again, the end of the lost session.
      requests: 6,
      text: "The cart is empty. The shop has forgotten it.",
    },
    { ...resumed(5, 2), calls: 3, requests: 3, text: "The cart holds apples, milk." },
  ]);
  expect(new Set(lines.map(({ pid }) => pid)).size).toBe(5);
});

function started(step: number, session: number): object {
  return { step, pid: expect.any(Number) as unknown, session, resumed: false, recovered: false };
}

function resumed(step: number, session: number): object {
  return { ...started(step, session), resumed: true };
}
