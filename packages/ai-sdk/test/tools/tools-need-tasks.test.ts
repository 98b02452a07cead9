/** Tasks, which a connection without `waiting` does not follow: as answers to calls, and tools that only run as tasks. */
import { createMemoryStore } from "@durable-mcp/core";
import { describe, expect, test, vi } from "vitest";
import { startModernServer } from "../../../sessions/test/modern-server.ts";
import { startNotebookServer } from "../../../sessions/test/notebook-server.ts";
import { sendJson } from "../../../core/test/http-server.ts";
import { alice, callTool, startApplication } from "../step.ts";
import {
  createDurableSessions,
  defineMcpClientConnection,
  type McpClientConnectionOptions,
} from "../../src/index.ts";

const dates = { createdAt: "2026-11-23T00:00:00Z", lastUpdatedAt: "2026-11-23T00:00:00Z" };
const own = { taskId: "task-secret", status: "working", ...dates, ttl: null, ttlMs: null };
const modernTask = { resultType: "task", ...own, content: [] };
const oldTask = { task: own };

type Guard = Parameters<Awaited<ReturnType<typeof startNotebookServer>>["intercept"]>[0];

/** Answers calls with a task, as JSON or as an event. */
const makesTasks =
  (result: object, isEvent: boolean): Guard =>
  ({ message }, response) => {
    if (message?.method !== "tools/call") return "next";
    const answer = { jsonrpc: "2.0", id: message.id, result };
    if (!isEvent) return sendJson(response, 200, answer);
    response.writeHead(200, { "content-type": "text/event-stream" });
    return void response.end(`data: ${JSON.stringify(answer)}\n\n`);
  };

type Case = [string, boolean, Partial<McpClientConnectionOptions>];
const on = (name: string, isModern: boolean, options: Case[2] = {}): Case => [
  name,
  isModern,
  options,
];

describe.each([false, true])("a task as an answer, as an event: %s", (isEvent) => {
  test.each([
    on("stateful, 2026-07-28", true, { session: "stateful" }),
    on("stateful, 2025-11-25", false, { session: "stateful" }),
    on("stateless, 2026-07-28", true),
    on("stateless, 2025-11-25", false),
    on("with a memory, 2026-07-28", true, { memory: "server" }),
  ])("is an unknown outcome, with the true word: %s", async (_, isModern, options) => {
    const guard = makesTasks(isModern ? modernTask : oldTask, isEvent);
    const notebook = await startNotebookServer();
    notebook.intercept(guard);
    const { url } = isModern ? await startModernServer({ guard }) : notebook;
    const sessions = createDurableSessions({
      connections: { notes: defineMcpClientConnection({ url, description: "N.", ...options }) },
      store: createMemoryStore(),
    });
    const failure = await sessions
      .run("chat", { principal: alice }, async (run) =>
        callTool(await run.tools(), isModern ? "notes__greet" : "notes__list_notes"),
      )
      .catch((error: unknown) => error);
    expect(failure).toMatchObject({
      code: "OUTCOME_UNKNOWN",
      message: expect.stringMatching(/made a task of the call.*may go on at the server/),
    });
    expect(String(failure)).not.toContain(own.taskId);
  });
});

const tool = (name: string, taskSupport?: string) => ({
  ...{ name, inputSchema: { type: "object" } },
  ...(taskSupport && { execution: { taskSupport } }),
});

test("tools that only run as tasks are not offered, and an event names them once a step", async () => {
  const warn = vi.spyOn(console, "warn").mockReturnValue(undefined);
  const notebook = await startNotebookServer();
  notebook.intercept(({ message }, response) => {
    if (message?.method !== "tools/list") return "next";
    const tools = [tool("plain"), tool("either", "optional"), tool("slow", "required")];
    return sendJson(response, 200, { jsonrpc: "2.0", id: message.id, result: { tools } });
  });
  const definition = { url: notebook.url, description: "N.", session: "stateful" } as const;
  const connections = { notes: defineMcpClientConnection(definition) };
  const { step, events } = startApplication(connections);
  const looked = await step({}, async (registry) => {
    for (let times = 0; times < 2; times += 1) {
      expect(Object.keys(await registry.tools())).toEqual(["notes__plain", "notes__either"]);
    }
  });
  const needed = { type: "tools-need-tasks", connection: "notes", tools: ["slow"] };
  expect(events.filter(({ type }) => type === "tools-need-tasks")).toEqual([needed]);
  // From the kept list too.
  await step(looked, async (registry) => {
    expect(Object.keys(await registry.tools())).toEqual(["notes__plain", "notes__either"]);
  });
  const sessions = createDurableSessions({ connections, store: createMemoryStore() });
  for (let times = 0; times < 2; times += 1) {
    await sessions.run("chat", { principal: alice }, (run) => run.tools());
  }
  expect(warn.mock.calls.map(String)).toEqual([expect.stringMatching(/only runs as tasks.*slow/)]);
  warn.mockRestore();
});
