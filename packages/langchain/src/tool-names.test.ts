/** Tools keep the names that they had with the adapter's `MultiServerMCPClient`. */
import { defineMcpClientConnection, type McpClientConnectionOptions } from "@durable-mcp/ai-sdk";
import { MultiServerMCPClient } from "@langchain/mcp-adapters";
import { AIMessage, createAgent, fakeModel, HumanMessage, tool } from "langchain";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { startNotebookServer } from "../../sessions/test/notebook-server.ts";
import { startApplication } from "../../ai-sdk/test/step.ts";
import { loadSessionTools } from "./load-session-tools.ts";
import { sessionToolsMiddleware } from "./middleware.ts";

type Names = McpClientConnectionOptions["toolNames"];

async function startNotes(names: Record<string, Names>) {
  const { url } = await startNotebookServer();
  const connections = Object.entries(names).map(([name, toolNames]) => [
    name,
    defineMcpClientConnection({ url, description: "Notes.", toolNames }),
  ]);
  return { url, ...startApplication<any>(Object.fromEntries(connections)) };
}

test.each<
  [string, Names, { prefixToolNameWithServerName?: boolean; additionalToolNamePrefix?: string }]
>([
  ["its default", { prefix: false }, {}],
  ["the server's name", undefined, { prefixToolNameWithServerName: true }],
  ["a prefix", { prefix: "mcp__" }, { additionalToolNamePrefix: "mcp" }],
  [
    "both",
    { prefix: "mcp__notes__" },
    { additionalToolNamePrefix: "mcp", prefixToolNameWithServerName: true },
  ],
])("names as of MultiServerMCPClient with %s", async (_, toolNames, options) => {
  const { url, step } = await startNotes({ notes: toolNames });
  const before = new MultiServerMCPClient({ mcpServers: { notes: { url } }, ...options });
  onTestFinished(() => before.close());
  const names = (await before.getTools()).map(({ name }) => name);
  await step({}, async (registry) => {
    expect((await loadSessionTools(registry)).map(({ name }) => name)).toEqual(names);
    expect(Object.keys(await registry.tools())).toEqual(names);
  });
});

test("two tools of one name are left out, with an event, or thrown", async () => {
  const application = await startNotes({ a: { prefix: false }, b: { prefix: false } });
  await application.step({}, async (registry) => {
    expect(await loadSessionTools(registry)).toEqual([]);
    expect(application.events.find(({ type }) => type === "tools-collide")).toEqual({
      type: "tools-collide",
      connection: "a",
      toolName: "add_note",
      tools: [
        { connection: "a", tool: "add_note" },
        { connection: "b", tool: "add_note" },
      ],
    });
    await expect(loadSessionTools(registry, { onUnavailable: "throw" })).rejects.toMatchObject({
      code: "CONNECTION_INVALID",
    });
  });
});

test("an agent's own tool takes the place of a connection's tool of the same name", async () => {
  const { provider } = await startNotes({ notes: { prefix: false } });
  const seen: unknown[] = [];
  const model = fakeModel()
    .respondWithTools([{ name: "list_notes", args: {}, id: "1" }])
    .respond(new AIMessage("Done."));
  const bindTools = model.bindTools.bind(model);
  model.bindTools = (tools) => {
    seen.push(...tools.map((own) => (own as { name: string }).name));
    return bindTools(tools);
  };
  const own = tool(() => "mine", { name: "list_notes", schema: z.object({}) });
  const agent = createAgent({ model, tools: [own], middleware: [sessionToolsMiddleware()] });
  const { messages } = await provider
    .create({})
    .enter(() => agent.invoke({ messages: [new HumanMessage("Go.")] }));
  const results = messages.filter(({ type }) => type === "tool").map(({ content }) => content);
  expect(results).toEqual(["mine"]);
  expect(seen.filter((name) => name === "list_notes")).toHaveLength(2);
  expect(seen).toHaveLength(8);
});
