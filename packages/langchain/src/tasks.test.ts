/** Tasks, which a connection without `waiting` does not follow, beneath LangChain tools. */
import { expect, test } from "vitest";
import { sendJson } from "../../core/test/http-server.ts";
import { startNotes } from "../test/notebook-agent.ts";
import { loadSessionTools } from "./load-session-tools.ts";

test("a tool that only runs as a task is not offered, and a task as an answer says so", async () => {
  const { server, application } = await startNotes();
  server.intercept(({ message }, response) => {
    const reply = (result: object) =>
      sendJson(response, 200, { jsonrpc: "2.0", id: message.id, result });
    const inputSchema = { type: "object" };
    const slow = { name: "slow", inputSchema, execution: { taskSupport: "required" } };
    if (message?.method === "tools/list")
      return reply({ tools: [{ name: "plain", inputSchema }, slow] });
    if (message?.method !== "tools/call") return "next";
    return reply({ task: { taskId: "task-secret", status: "working" } });
  });
  const { step, events } = application;
  await step({}, async (registry) => {
    const tools = await loadSessionTools(registry);
    expect(tools.map(({ name }) => name)).toEqual(["notes__plain"]);
    const said = await tools[0]!.invoke({}).catch((error: unknown) => String(error));
    expect(said).toMatch(/made a task of the call/);
    expect(said).not.toContain("task-secret");
  });
  expect(events).toContainEqual({ type: "tools-need-tasks", connection: "notes", tools: ["slow"] });
});
