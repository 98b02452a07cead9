import { defineMcpClientConnection } from "@durable-mcp/ai-sdk";
import { expect, test } from "vitest";
import { startNotebookServer } from "../../ai-sdk/test/notebook-server.ts";
import { startApplication } from "../../ai-sdk/test/step.ts";
import { loadSessionTools } from "./load-session-tools.ts";

test("a call that a person would have to approve does not run, and the model is told", async () => {
  const server = await startNotebookServer();
  const notes = defineMcpClientConnection({
    url: server.url,
    description: "Notes.",
    session: "stateful",
    approval: ({ tool }) => tool === "add_note" || (tool === "fail" && "denied"),
  });
  await startApplication({ notes }).step({}, async (registry) => {
    const tools = await loadSessionTools(registry);
    const call = async (name: string, args: object = {}) => {
      const tool = tools.find((each) => each.name === `notes__${name}`)!;
      const said = { type: "tool_call", id: "call-1", name: tool.name, args };
      return await tool.invoke(said as never);
    };
    await expect(call("add_note", { text: "milk" })).rejects.toThrow(/has to approve this call/);
    await expect(call("fail")).rejects.toThrow("The application denied this call.");
    expect(server.log).not.toContain("POST tools/call");
    await call("list_notes");
    expect(server.log).toContain("POST tools/call");
  });
});
