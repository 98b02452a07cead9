import { expect, test } from "vitest";
import { jsonLines, runDemo } from "../../test/run-demo.ts";

const demo = new URL("demo.ts", import.meta.url);

test("a call waits in the store while its processes end, and is lost with the AI SDK alone", async () => {
  const lines = jsonLines<{ pid: number }>(await runDemo(demo, ["--json"]));
  const pid: unknown = expect.any(Number);
  const [kept, alone] = [
    { with: "durable-mcp", pid },
    { with: "ai-sdk", pid },
  ] as const;
  const lost = "MCPClientError: Failed to process server response";
  expect(lines).toEqual([
    // Discovery, the tool list, and the call, which the shop answers with a question.
    { ...kept, step: 1, requests: 3, calls: 1, waiting: true, round: 1, text: "" },
    // An answer each, and nothing else.
    { ...kept, step: 2, requests: 2, calls: 2, waiting: false, round: 2, text: "" },
    {
      ...kept,
      ...{ step: 3, requests: 2, calls: 0, waiting: false, round: 0 },
      text: "Your tea comes at 09:00.",
    },
    { ...alone, step: 1, requests: 3, calls: 1, waiting: false, round: 1, text: lost },
    // The first question again.
    { ...alone, step: 2, requests: 3, calls: 1, waiting: false, round: 1, text: lost },
  ]);
  expect(new Set(lines.map((line) => line.pid)).size).toBe(5);
});
