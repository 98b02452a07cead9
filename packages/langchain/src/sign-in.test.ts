/** A connection whose user has to sign in. */
import { defineMcpClientConnection, McpSessionError } from "@durable-mcp/ai-sdk";
import { AIMessage, createAgent, fakeModel, HumanMessage } from "langchain";
import { describe, expect, test } from "vitest";
import { invalidToken, lock } from "../../sessions/test/locked-server.ts";
import { startModernServer } from "../../sessions/test/modern-server.ts";
import { startNotebookServer } from "../../sessions/test/notebook-server.ts";
import { startSseServer } from "../../sessions/test/sse-server.ts";
import { startApplication } from "../../ai-sdk/test/step.ts";
import { loadSessionTools } from "./load-session-tools.ts";
import { sessionToolsMiddleware } from "./session-tools-middleware.ts";

const startUrl = "https://app.test/oauth/start?connection=notes";
const words = `The user has to sign in at ${startUrl}.`;
const required = { code: "AUTHORIZATION_REQUIRED", data: { connection: "notes", startUrl } };

const servers = {
  "with sessions": { start: startNotebookServer, tool: "notes__list_notes" },
  "without sessions": { start: startModernServer, tool: "notes__greet" },
  "over HTTP+SSE": { start: () => startSseServer(405), tool: "notes__greet" },
};
// LangChain's client needs sessions where a connection keeps one.
const cases = [
  ["with sessions", "stateful"],
  ["with sessions", "stateless"],
  ["without sessions", "stateless"],
  ["over HTTP+SSE", "stateful"],
  ["over HTTP+SSE", "stateless"],
] as const;

async function start(kind: string, session: "stateful" | "stateless") {
  const { start: startServer, tool } = servers[kind as keyof typeof servers];
  const server = await startServer();
  const locked = await lock(server);
  const user = { isSignedIn: true };
  const notes = defineMcpClientConnection({
    ...{ url: locked.url, description: "Notes.", session },
    auth: {
      getToken({ refused }) {
        if (user.isSignedIn && refused === undefined) return { token: "token-1" };
        throw new McpSessionError("AUTHORIZATION_REQUIRED", words, { data: { startUrl } });
      },
    },
  });
  return { server, locked, user, tool, ...startApplication({ notes }) };
}

describe.each(cases)("a server %s, on a %s connection", (kind, session) => {
  test("has no tools before the sign-in, and an event or an error says so", async () => {
    const { locked, user, step, events } = await start(kind, session);
    user.isSignedIn = false;
    await step({}, async (registry) => {
      expect(await loadSessionTools(registry)).toEqual([]);
      const thrown = loadSessionTools(registry, { onUnavailable: "throw" });
      await expect(thrown).rejects.toMatchObject(required);
    });
    expect(locked.requests).toEqual([]);
    expect(events.map(({ type }) => type)).toEqual([
      "authorization-required",
      "authorization-required",
    ]);
  });

  test("a call that meets it says where to sign in, in the error's words, and is made after it", async () => {
    const { locked, step, tool: name } = await start(kind, session);
    await step({}, async (registry) => {
      const tools = await loadSessionTools(registry);
      const tool = tools.find((each) => each.name === name)!;
      locked.judge((_, { message }) =>
        message?.method === "tools/call" ? invalidToken : undefined,
      );
      await expect(tool.invoke({})).rejects.toMatchObject({ message: words, cause: required });
      locked.judge(() => undefined);
      expect(await tool.invoke({})).toEqual(expect.any(String));
    });
  });
});

test("the model reads the words alone, and the session goes on", async () => {
  const { server, locked, step, tool: name } = await start("with sessions", "stateful");
  const call = { name, args: {}, id: "call-1" };
  const runAgent = async (registry: { enter(use: () => Promise<any>): Promise<any> }) => {
    const model = fakeModel().respondWithTools([call]).respond(new AIMessage("Done."));
    const agent = createAgent({ model, middleware: [sessionToolsMiddleware()] });
    const input = { messages: [new HumanMessage("Go.")] };
    const { messages } = await registry.enter(() => agent.invoke(input));
    return messages.find(({ type }: { type: string }) => type === "tool").content as string;
  };
  const saved = await step({}, runAgent);
  locked.judge(() => invalidToken);
  await step(saved, async (registry) => expect(await runAgent(registry)).toBe(words));
  locked.judge(() => undefined);
  await step(saved, async (registry) => expect(await runAgent(registry)).toBe(""));
  expect((server as { sessionIds?: string[] }).sessionIds).toHaveLength(1);
});
