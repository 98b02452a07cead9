import {
  type AutoSessionOptions,
  type ConnectionEvent,
  type ConnectionProvider,
  createConnectionProvider,
  createDurableSessions,
  currentConnections,
  withConnections,
} from "@durable-mcp/ai-sdk";
import { defineMcpStdioConnection } from "@durable-mcp/ai-sdk/stdio";
import { stdioFixture } from "../../e2e/src/stdio/stdio-fixture.ts";
import { createMemoryStore } from "@durable-mcp/core";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { AIMessage, createAgent } from "langchain";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import {
  type NotebookServerOptions,
  startNotebookServer,
} from "../../sessions/test/notebook-server.ts";
import { notebook } from "../../ai-sdk/test/saved-session.ts";
import { alice } from "../../ai-sdk/test/step.ts";
import { call, input, saying } from "../test/notebook-agent.ts";
import { loadSessionTools } from "./load-session-tools.ts";
import { sessionToolsMiddleware } from "./session-tools-middleware.ts";

/** A busy machine takes its time. */
const patient = { timeout: 10_000 };
const providers: ConnectionProvider<any>[] = [];

afterEach(async () => {
  await Promise.all(providers.splice(0).map((provider) => provider.shutdown()));
});

/** A script that opens no run. */
async function startScript(
  options: Partial<AutoSessionOptions> = {},
  setUp?: NotebookServerOptions["setUp"],
) {
  const server = await startNotebookServer(setUp && { setUp });
  const provider = createConnectionProvider({
    connections: { notes: notebook(server) },
    autoSession: { principal: alice, ...options },
  });
  providers.push(provider);
  return { server, provider };
}

const resultsOf = ({ messages }: { messages: readonly any[] }) =>
  messages.filter(({ type }) => type === "tool").map(({ content }) => content as unknown);

const listNotes = async () =>
  (await call(await loadSessionTools(), "notes__list_notes")).content as string;

describe("LangChain tools of the implicit session", () => {
  test("use one session with all other code, and need no run", async () => {
    const { server } = await startScript();
    const tools = await loadSessionTools();
    expect((await call(tools, "notes__add_note", { text: "a" })).content).toBe("1 notes");
    const { content } = await currentConnections().call("notes", "list_notes");
    expect(content).toMatchObject([{ text: "a" }]);
    expect(server.sessionIds).toHaveLength(1);
  });

  test("can be called after it ended and began anew", async () => {
    const { server } = await startScript();
    const tools = await loadSessionTools();
    await call(tools, "notes__add_note", { text: "a" });
    await currentConnections().dispose();
    expect(server.liveSessions()).toBe(0);
    expect((await call(tools, "notes__list_notes")).content).toBe("");
    expect(server.sessionIds).toHaveLength(2);
  });

  test("are the agent's through the middleware, which loads them anew after a pause", async () => {
    let sessions = 0;
    const { server } = await startScript({}, (mcp: McpServer) => {
      sessions += 1;
      mcp.registerTool(`tool_${sessions}`, {}, () => ({ content: [{ type: "text", text: "ok" }] }));
    });
    const agent = createAgent({
      model: saying(
        [{ name: "notes__tool_1", args: {}, id: "1" }],
        [{ name: "notes__tool_1", args: {}, id: "2" }],
      )
        .respondWithTools([{ name: "notes__tool_2", args: {}, id: "3" }])
        .respond(new AIMessage("Done.")),
      middleware: [sessionToolsMiddleware()],
    });
    expect(resultsOf(await agent.invoke(input))).toEqual(["ok", "ok"]);
    expect(server.log.filter((line) => line === "POST tools/list")).toHaveLength(1);
    await currentConnections().dispose();
    expect(resultsOf(await agent.invoke(input))).toEqual(["ok"]);
  });
});

test("agents below withConnections have the sessions that it chooses, with a store", async () => {
  const server = await startNotebookServer();
  const sessions = createDurableSessions({
    connections: { notes: notebook(server) },
    store: createMemoryStore(),
    autoSession: { principal: alice, sessionId: "nightly-import" },
  });
  onTestFinished(() => sessions.shutdown());
  const add = { name: "notes__add_note", args: { text: "a" }, id: "1" };
  const agent = createAgent({
    model: saying([add], [add]).respondWithTools([add]).respond(new AIMessage("Done.")),
    middleware: [sessionToolsMiddleware()],
  });
  const named = { notes: { named: "research" } };
  const results = async () => resultsOf(await agent.invoke(input));
  expect(await withConnections(named, results)).toEqual(["1 notes", "2 notes"]);
  await currentConnections().dispose();
  expect(await results()).toEqual(["1 notes"]);
  const tools = await withConnections(named, () => loadSessionTools());
  await expect(call(tools, "notes__list_notes")).rejects.toThrow(/run is over/);
  expect(await withConnections(named, listNotes)).toBe("a, a");
  expect(server.sessionIds).toHaveLength(2);
});

test("LangChain tools of an ephemeral run have a session for each call", async () => {
  const { server, provider } = await startScript();
  const once = currentConnections({ ephemeral: true, provider, principal: alice });
  const tools = await loadSessionTools(once);
  expect(server.liveSessions()).toBe(0);
  for (const text of ["a", "b"]) {
    expect((await call(tools, "notes__add_note", { text })).content).toBe("1 notes");
  }
  expect(server.liveSessions()).toBe(0);
});

describe("after the implicit session ended by idling", () => {
  const note = /^Note: .* is gone; /;

  test("the next result begins with the note, and only that one", async () => {
    const { server } = await startScript({ idleTimeoutMs: 30 });
    const tools = await loadSessionTools();
    await call(tools, "notes__add_note", { text: "a" });
    await vi.waitFor(() => expect(server.liveSessions()).toBe(0), patient);
    // Without a pause in between.
    await currentConnections().enter(async () => {
      const { content, artifact } = await call(tools, "notes__list_notes");
      expect(content).toMatch(note);
      const data = { "durable-mcp/sessionReplaced": true };
      expect(artifact).toEqual([{ type: "mcp_meta", data }]);
      expect((await call(tools, "notes__list_notes")).content).toBe("");
    });
  });

  test("so does that of a stdio server, whose process had ended", async () => {
    const { command, args } = stdioFixture();
    const events: ConnectionEvent[] = [];
    const provider = createConnectionProvider({
      connections: {
        notes: defineMcpStdioConnection({
          ...{ command, args, description: "Notes.", timeouts: { closeMs: 200 } },
          // A process that died would not be replaced. This one was ended.
          session: { onLoss: "report" },
        }),
      },
      autoSession: { principal: alice, idleTimeoutMs: 30 },
      onEvent: { every: (event) => events.push(event) },
    });
    providers.push(provider);
    const types = () =>
      events
        .map(({ type }) => type)
        .filter((type) => !["client", "operation", "step-ended"].includes(type));
    const script = currentConnections();
    const tools = await script.enter(() => loadSessionTools(script));
    await vi.waitFor(() => expect(types()).toContain("ended"), patient);
    expect((await call(tools, "notes__list_notes")).content).toMatch(note);
    await vi.waitFor(
      () => expect(types()).toEqual(["started", "ended", "recovered", "ended"]),
      patient,
    );
    const ofAiSdk = await currentConnections().tools();
    const how = { toolCallId: "1", messages: [], context: {} };
    const result = await ofAiSdk["notes__list_notes"]!.execute!({}, how);
    expect(result).toMatchObject({ _meta: { "durable-mcp/sessionReplaced": true } });
  });
});
