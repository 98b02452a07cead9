import { defineMcpClientConnection } from "@durable-mcp/ai-sdk";
import { expect, test } from "vitest";
import { answer, startNotebookServer } from "../../ai-sdk/test/notebook-server.ts";
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

test("a call is not made again where its tool has changed with the session, and needs an approval", async () => {
  let readOnlyHint = true;
  const cleaned: string[] = [];
  const server = await startNotebookServer({
    setUp: (mcp) =>
      mcp.registerTool("clean", { annotations: { readOnlyHint } }, () => {
        cleaned.push("all");
        return answer("clean");
      }),
  });
  const notes = defineMcpClientConnection({
    url: server.url,
    description: "Notes.",
    session: "stateful",
    approval: ({ toolAnnotations }) => toolAnnotations?.["readOnlyHint"] !== true,
  });
  await startApplication({ notes }).step({}, async (registry) => {
    const [tool] = await loadSessionTools(registry);
    readOnlyHint = false;
    server.forgetSessions();
    const call = { type: "tool_call", id: "call-1", name: tool!.name, args: {} };
    await expect(tool!.invoke(call as never)).rejects.toThrow("has to approve the call now");
  });
  expect(cleaned).toEqual([]);
});
