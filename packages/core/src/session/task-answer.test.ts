import { describe, expect, test } from "vitest";
import { createModernClient } from "../../test/memory-server.ts";
import { startMemoryStep } from "../../test/memory-step.ts";
import { answerModern } from "../../test/changing-server.ts";
import {
  eventText,
  type McpHandler,
  sendResult,
  startEvents,
  startMcpServer,
} from "../../test/mcp-server.ts";
import { saveSession, startStep } from "../../test/step.ts";
import { sessionFailure } from "../index.ts";

const id = "task-secret-1";
const times = { createdAt: "2026-11-23T00:00:00Z", lastUpdatedAt: "2026-11-23T00:00:00Z" };
const own = { taskId: id, status: "working", ...times };
/** As servers of 2026-07-28 give it, and as those of 2025-11-25 do. SDK v2 adds the empty content. */
const modernTask = { resultType: "task", ...own, ttlMs: null, content: [] };
const oldTask = { task: { ...own, ttl: 60_000, pollInterval: 100 } };

const answering =
  (task: object, form: string, otherwise: McpHandler): McpHandler =>
  (request, response, next) => {
    const { message } = request;
    if (message?.method !== "tools/call") return void otherwise(request, response, next);
    if (form === "JSON") return sendResult(response, message.id, task);
    startEvents(response);
    const progress = { jsonrpc: "2.0", method: "notifications/progress", params: {} };
    const answer = { jsonrpc: "2.0", id: message.id, result: task };
    response.end(eventText(progress) + eventText(answer));
  };

const asSession: McpHandler = (_request, _response, next) => next();

function expectTruth(answer: any) {
  expect(answer.error.message).toMatch(/made a task of the call.*may go on at the server/);
  expect(answer.error.data).toMatchObject({ code: "OUTCOME_UNKNOWN" });
  expect(JSON.stringify(answer)).not.toContain(id);
}

describe.each(["JSON", "an answer stream"])(
  "a task as an answer, as %s, is the error that says so",
  (form) => {
    test("on a session", async () => {
      const server = await startMcpServer();
      const { client, slot } = startStep(server, { snapshot: await saveSession(server) });
      server.use(answering(oldTask, form, asSession));
      const answer = await client.request("tools/call", { name: "echo" });
      expectTruth(answer);
      const error = Object.assign(new Error(answer.error.message), answer.error);
      expect(sessionFailure(slot, error)).toMatchObject({ code: "OUTCOME_UNKNOWN" });
    });

    test("without sessions", async () => {
      const server = await startMcpServer();
      server.use(answering(modernTask, form, answerModern));
      const { fetch } = startStep(server);
      const modern = createModernClient(fetch, server.url);
      await modern.request("server/discover");
      expectTruth(await modern.request("tools/call", { name: "echo" }));
    });

    test("beneath a memory, of both eras", async () => {
      const server = await startMcpServer();
      server.use(answering(modernTask, form, answerModern));
      const { modern, client } = startMemoryStep(server);
      await modern.request("server/discover");
      expectTruth(await modern.request("tools/call", { name: "echo" }));
      server.use(answering(oldTask, form, answerModern));
      expectTruth(await client.request("tools/call", { name: "echo" }));
    });
  },
);

test("passes to a client that follows tasks by itself", async () => {
  const server = await startMcpServer();
  const { client } = startStep(server, { snapshot: await saveSession(server) });
  server.use(answering(oldTask, "JSON", asSession));
  const task = { ttl: 60_000 };
  expect(await client.request("tools/call", { name: "echo", task })).toMatchObject({
    result: oldTask,
  });
  server.use(answering(modernTask, "JSON", answerModern));
  const capabilities = { extensions: { "io.modelcontextprotocol/tasks": {} } };
  const modern = createModernClient(startStep(server).fetch, server.url, { capabilities });
  await modern.request("server/discover");
  expect(await modern.request("tools/call", { name: "echo" })).toMatchObject({
    result: modernTask,
  });
});

test("a tool's own result is its own, whatever is in it", async () => {
  const server = await startMcpServer();
  const { client } = startStep(server, { snapshot: await saveSession(server) });
  const content = [{ type: "text", text: JSON.stringify(modernTask) }];
  for (const result of [
    { content, structuredContent: oldTask },
    { content, ...oldTask },
    { content: [], task: "t" },
  ]) {
    server.use(answering(result, "JSON", asSession));
    expect(await client.request("tools/call", { name: "echo" })).toMatchObject({ result });
  }
});
