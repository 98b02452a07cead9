import { expect, test } from "vitest";
import { jsonLines, runDemo } from "../../test/run-demo.ts";
import type { LastingCalls } from "./ask-and-work.ts";
import type { CartReport } from "./cart-report.ts";

const demo = new URL("demo.ts", import.meta.url);

interface DemoResult {
  clients: CartReport[];
  lasting?: LastingCalls;
  faults: string[];
}

test("one cart of both eras loses nothing when a replica is killed and one is drained", async () => {
  const [
    { clients, lasting, faults } = {
      clients: [],
      lasting: undefined,
      faults: ["Nothing was said."],
    },
  ] = jsonLines<DemoResult>(await runDemo(demo, ["--json"]));
  expect(faults).toEqual([]);
  expect(lasting).toEqual({ asked: 1, answered: "It is bought.", task: "settled" });
  expect(clients.map(({ name, revision }) => [name, revision])).toEqual([
    ["@modelcontextprotocol/sdk 1", "2025-11-25"],
    ["@ai-sdk/mcp 2", "2025-11-25"],
    ["@modelcontextprotocol/client 2", "2026-07-28"],
  ]);
  for (const { answered, unknown } of clients) expect(answered.length + unknown.length).toBe(24);
});
