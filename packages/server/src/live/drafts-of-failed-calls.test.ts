import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { expect, test } from "vitest";
import { createRawClient } from "../../test/raw-client.ts";
import { createSessionHandler } from "../index.ts";

function start() {
  const handler = createSessionHandler<{ tries: number }>({
    principal: "none",
    initialState: () => ({ tries: 0 }),
    responseFormat: "json",
    createServer({ session }) {
      const mcp = new McpServer({ name: "tries", version: "1.0.0" });
      mcp.registerTool("fail", {}, () => {
        session.state.tries += 1;
        throw new Error("no");
      });
      mcp.registerTool("wait_for_cancellation", {}, async ({ signal }) => {
        session.state.tries += 1;
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
        return { content: [] };
      });
      mcp.registerTool("tries", {}, () => ({
        content: [{ type: "text", text: String(session.state.tries) }],
      }));
      return mcp;
    },
  });
  return createRawClient(handler);
}

test("a draft is stored although the answer is an error", async () => {
  const client = start();
  const id = await client.initialize();
  expect(await client.call(id, "fail")).toMatchObject({ text: "no" });
  expect(await client.call(id, "tries")).toMatchObject({ text: "1" });
});

test("a draft of a cancelled call is dropped", async () => {
  const client = start();
  const id = await client.initialize();
  const call = client.call(id, "wait_for_cancellation", {}, "slow");
  const cancel = { method: "notifications/cancelled", params: { requestId: "slow" } };
  // Not before the call has arrived.
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect((await client.post(id, cancel)).status).toBe(202);
  await call;
  expect(await client.call(id, "tries")).toMatchObject({ text: "0" });
});
