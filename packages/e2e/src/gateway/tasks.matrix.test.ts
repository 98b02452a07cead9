import { createTaskJournal, createTasksServer } from "../../../server/test/tasks-server.ts";
import { listen } from "../../../server/test/listen.ts";
import { createMemoryStore } from "@durable-mcp/core";
import { createSessionHandler } from "@durable-mcp/server";
import { toNodeHandler } from "@durable-mcp/server/node";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { CallToolResultSchema, ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { expect, onTestFinished, test } from "vitest";
import { callTool, cancelTask, getTask, textOf } from "../replicas/task-client.ts";
import { startFixtureServer } from "../servers/fixture-server.ts";
import { balanced, startGateway } from "./gateway-process.ts";

/** Our server of SDK v1, whose tasks are of revision 2025-11-25. */
async function startTasksServer() {
  const journal = createTaskJournal();
  const handler = createSessionHandler({
    principal: "none",
    store: createMemoryStore(),
    createServer: ({ session }) => createTasksServer(session, journal),
    timeouts: { pollIntervalMs: 100 },
  });
  const server = await listen(toNodeHandler(handler));
  onTestFinished(server[Symbol.asyncDispose]);
  return { journal, url: server.url };
}

test("a task of 2025-11-25 asks its client and gives its result, though all processes of the gateway are killed", async () => {
  const { journal, url } = await startTasksServer();
  const gateway = await startGateway({ server: url }, { processes: 2 });
  onTestFinished(gateway.stop);
  const client = new Client(
    { name: "unchanged", version: "1.0.0" },
    { capabilities: { elicitation: { form: {} } } },
  );
  const asked: string[] = [];
  client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
    asked.push(params.message);
    return { action: "accept" as const, content: { confirm: true } };
  });
  const fetch = balanced(gateway.processes);
  const at = new URL(gateway.processes[0]!.urlOf("server"));
  await client.connect(new StreamableHTTPClientTransport(at, { fetch }));
  onTestFinished(() => client.close());
  await client.listTools();
  const begin = (name: string, args: Record<string, unknown>) =>
    client.experimental.tasks.callToolStream({ name, arguments: args }, CallToolResultSchema, {
      task: { ttl: 60_000 },
    });
  const results: unknown[] = [];
  for await (const message of begin("confirm_delete", { filename: "a.txt" }))
    if (message.type === "result") results.push(message.result);
  expect(results).toMatchObject([{ content: [{ text: "Deleted 'a.txt'" }] }]);
  expect(asked).toEqual(["Delete a.txt?"]);

  journal.held.add("tea");
  const stream = begin("research", { topic: "tea" });
  const { value: created } = await stream.next();
  if (created?.type !== "taskCreated") throw new Error("No task was created.");
  for (const each of gateway.processes) await each.restart();
  const { taskId } = created.task;
  expect(await client.experimental.tasks.getTask(taskId)).toMatchObject({ status: "working" });
  journal.held.clear();
  const result = await client.experimental.tasks.getTaskResult(taskId, CallToolResultSchema);
  expect(JSON.stringify(result)).toContain("tea");
  const { tasks } = await client.experimental.tasks.listTasks();
  expect(tasks).toHaveLength(2);
});

test("a task of 2026-07-28 is got and cancelled through any process", async () => {
  const server = await startFixtureServer("SDK v2, tasks", "sdk-v2-tasks-server.ts");
  onTestFinished(server.stop);
  const gateway = await startGateway({ server: server.url }, { processes: 2 });
  onTestFinished(gateway.stop);
  const [one, two] = gateway.processes.map((each) => each.urlOf("server"));
  const { taskId } = await callTool(one!, "research", { topic: "tea", delayMs: 1_500 });
  for (const each of gateway.processes) await each.restart();
  await expect
    .poll(async () => textOf(await getTask(two!, taskId)), { timeout: 10_000 })
    .toBe("All about tea.");
  const other = await callTool(two!, "research", { topic: "rice", delayMs: 60_000 });
  await cancelTask(one!, other.taskId);
  expect(await getTask(two!, other.taskId)).toMatchObject({ status: "cancelled" });
  expect(server.runs("tea")).toBe(1);
});
