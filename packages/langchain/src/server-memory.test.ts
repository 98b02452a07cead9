/** What a server says of itself, beneath the clients of LangChain tools. */
import { defineMcpClientConnection, type McpClientConnectionOptions } from "@durable-mcp/ai-sdk";
import { expect, test } from "vitest";
import { startModernServer } from "../../sessions/test/modern-server.ts";
import { startNotebookServer } from "../../sessions/test/notebook-server.ts";
import { type AgentSession, startApplication } from "../../ai-sdk/test/step.ts";
import { loadSessionTools } from "./load-session-tools.ts";

const caching = { ttlMs: 60_000 };

test.each<
  [string, () => ReturnType<typeof startModernServer>, Partial<McpClientConnectionOptions>]
>([
  ["of 2026-07-28", () => startModernServer({ caching }), { memory: "server" }],
  ["of 2026-07-28, pinned", () => startModernServer(), { memory: { pinMs: 60_000 } }],
  [
    "of 2026-07-28, on a stateful connection",
    () => startModernServer({ caching }),
    { session: "stateful", memory: "server" },
  ],
  [
    "of the session era without ids",
    () => startNotebookServer({ isSessionless: true }),
    { memory: "server" },
  ],
])("is kept %s: a cold step sends its call alone", async (...row) => {
  const [, start, options] = row;
  const server = await start();
  let session: AgentSession = {};
  const step = async () => {
    const one = defineMcpClientConnection({ url: server.url, description: "A.", ...options });
    const application = startApplication({ one });
    server.requests.length = 0;
    session = await application.step(session, async (registry) => {
      const tools = await loadSessionTools(registry);
      const tool = tools.find(({ name }) => /greet|list_notes/.test(name))!;
      await tool.invoke({});
    });
    return server.log;
  };
  expect(await step()).toContain("POST tools/list");
  expect(await step()).toEqual(["POST tools/call"]);
});
