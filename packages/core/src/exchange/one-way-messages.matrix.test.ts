import v8 from "node:v8";
import { expect, test } from "vitest";
import { sessionSnapshot, startStep } from "../../test/step.ts";

const url = "http://127.0.0.1/mcp";
const messages = [
  { jsonrpc: "2.0", method: "notifications/progress", params: { progressToken: 1, progress: 1 } },
  { jsonrpc: "2.0", id: 1, result: {} },
];

// Each one-way message once held a timer for five minutes: 30,000 of them held 32 MB.
test("a one-way message leaves no timer and no signal behind", async () => {
  const { client } = startStep(
    { url },
    { snapshot: sessionSnapshot(url), fetch: async () => new Response(null, { status: 202 }) },
  );
  const { signal } = new AbortController();
  const before = v8.queryObjects(AbortSignal, { format: "count" });
  for (let sent = 0; sent < 1_000; sent += 1) await client.post(messages[sent % 2], { signal });
  const kept = () => v8.queryObjects(AbortSignal, { format: "count" }) - before;
  await expect.poll(kept).toBeLessThan(100);
});
