import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

test("a LangChain agent keeps one session over processes, and its model learns of a loss", async () => {
  const demo = fileURLToPath(new URL("demo.ts", import.meta.url));
  const child = spawn(process.execPath, ["--conditions=@durable-mcp/source", demo, "--json"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [stdout, [exitCode]] = await Promise.all([text(child.stdout), once(child, "close")]);
  expect(exitCode).toBe(0);
  const lines = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { pid: number });
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
      // The refused call, the handshake and the tool list, the call again.
      requests: 5,
      text: "The cart is empty. The shop has forgotten it.",
    },
  ]);
  expect(new Set(lines.map((line) => line.pid)).size).toBe(3);
});
