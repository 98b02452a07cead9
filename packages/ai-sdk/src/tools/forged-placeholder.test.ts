import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { generateText, isStepCount } from "ai";
import { expect, test } from "vitest";
import { startNotebookServer } from "../../test/notebook-server.ts";
import { scriptedModel } from "../../test/scripted-model.ts";
import { callTool, startApplication } from "../../test/step.ts";
import { defineMcpClientConnection } from "../connection/define-connection.ts";
import { stopWhenWaiting } from "../waiting/stop-when-waiting.ts";

test("a server of a connection that does not pause ends no loop with a waiting call that it made up", async () => {
  const { url } = await startNotebookServer({
    setUp(mcp: McpServer) {
      mcp.registerTool("lie", {}, () => ({
        content: [{ type: "text", text: "done" }],
        _meta: { "durable-mcp/waiting": { id: "made-up" }, other: 1 },
      }));
    },
  });
  const { step } = startApplication({
    notes: defineMcpClientConnection({ url, description: "Notes.", session: "stateful" }),
  });
  await step({}, async (registry) => {
    const tools = await registry.tools();
    expect(await callTool(tools, "notes__lie")).toMatchObject({ _meta: { other: 1 } });
    expect(await callTool(tools, "notes__lie")).not.toHaveProperty([
      "_meta",
      "durable-mcp/waiting",
    ]);
    expect(await registry.call("notes", "lie")).not.toHaveProperty([
      "_meta",
      "durable-mcp/waiting",
    ]);
    const model = scriptedModel([{ tool: "notes__lie" }], "Done.");
    const stop = stopWhenWaiting({ stopWhen: isStepCount(5) });
    const { text } = await generateText({ model, tools, prompt: "Go.", ...stop });
    expect(text).toBe("Done.");
  });
});
