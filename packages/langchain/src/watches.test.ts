/** What a chat watches is no affair of its tools, and LangChain's steps get the news by the run. */
import { createMemoryStore } from "@durable-mcp/core";
import { AIMessage, createAgent, fakeModel, HumanMessage } from "langchain";
import { expect, test } from "vitest";
import { z } from "zod";
import { answer, startNotebookServer } from "../../sessions/test/notebook-server.ts";
import { alice } from "../../ai-sdk/test/step.ts";
import { createDurableSessions, defineMcpClientConnection } from "./index.ts";
import { sessionToolsMiddleware } from "./session-tools-middleware.ts";
import { loadSessionTools } from "./load-session-tools.ts";

const resource = "note://board";
const use = { principal: alice };

test.each(["stateful", "stateless"] as const)("an agent with a watch (%s)", async (session) => {
  let text = "A";
  const server = await startNotebookServer({
    setUp(mcp) {
      mcp.registerResource("board", resource, {}, () => ({ contents: [{ uri: resource, text }] }));
      const inputSchema = { text: z.string() };
      mcp.registerTool("add_note", { inputSchema }, () => answer("Noted."));
    },
  });
  let time = Date.now();
  const now = () => time;
  const store = createMemoryStore({ now });
  // One whose users sign in.
  const auth = {
    getToken: async () => ({ token: "a-token" }),
    authorizationFor: async () => undefined,
  };
  const options = { url: server.url, description: "Notes.", session, waiting: { watch: true } };
  const process = () => {
    const connections = { notes: defineMcpClientConnection({ ...options, auth }) };
    return createDurableSessions({ connections, store, now, onEvent: () => undefined });
  };
  await process().run("chat", use, (run) => run.watch("notes", { resource }));
  text = "B";
  time += 60_000;
  for await (const { reference } of process().admin.due()) {
    const checked = await process().admin.check(reference);
    expect(checked).toMatchObject({ sessionId: "chat", call: { type: "watch", news: 1 } });
  }
  const note = [{ name: "notes__add_note", args: { text: "tea" }, id: "call" }];
  const model = fakeModel().respondWithTools(note).respond(new AIMessage("Done."));
  await process().run("chat", use, async (run) => {
    const tools = await loadSessionTools();
    expect(tools.map(({ name }) => name)).toEqual(["notes__add_note"]);
    const agent = createAgent({ model, middleware: [sessionToolsMiddleware()] });
    const invoked = agent.invoke({ messages: [new HumanMessage("Go.")] });
    expect(JSON.stringify(await invoked)).toContain("Noted.");
    expect(await run.waiting.news()).toMatchObject([{ resource, data: [{ text: "B" }] }]);
  });
  const after = await process().run("chat", use, async ({ waiting }) => await waiting.news());
  expect(after).toEqual([]);
});
