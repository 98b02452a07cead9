import { defineMcpClientConnection } from "@durable-mcp/ai-sdk";
import { expect, test } from "vitest";
import { answer, startNotebookServer } from "../../sessions/test/notebook-server.ts";
import { startApplication } from "../../ai-sdk/test/step.ts";
import { call, startNotes } from "../test/notebook-agent.ts";
import { loadSessionTools } from "./load-session-tools.ts";

test("a call that a person would have to approve does not run, and the model is told", async () => {
  const { server, application } = await startNotes({
    approval: ({ tool }) => tool === "add_note" || (tool === "fail" && "denied"),
  });
  await application.step({}, async (registry) => {
    const tools = await loadSessionTools(registry);
    const add = call(tools, "notes__add_note", { text: "milk" });
    await expect(add).rejects.toThrow(/has to approve this call/);
    await expect(call(tools, "notes__fail")).rejects.toThrow("The application denied this call.");
    expect(server.log).not.toContain("POST tools/call");
    await call(tools, "notes__list_notes");
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
    await expect(call([tool!], tool!.name)).rejects.toThrow("has to approve the call now");
  });
  expect(cleaned).toEqual([]);
});
