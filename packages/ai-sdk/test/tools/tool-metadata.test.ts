import { generateText, isStepCount } from "ai";
import { expect, test } from "vitest";
import { answer, startNotebookServer } from "../../../sessions/test/notebook-server.ts";
import { scriptedModel } from "@durable-mcp/testing/ai-sdk";
import { startApplication } from "../step.ts";
import { defineMcpClientConnection } from "../../src/index.ts";

test("title, annotations and the app's resource reach tools and calls, in a resumed step too", async () => {
  const resourceUri = "ui://notes/list.html";
  const app = { resourceUri, mimeType: "text/html;profile=mcp-app" };
  const server = await startNotebookServer({
    setUp(mcp) {
      mcp.registerTool(
        "list_notes",
        {
          ...{ title: "Show the notes", annotations: { readOnlyHint: true } },
          _meta: { ui: { resourceUri }, "example.test/team": "notes" },
        },
        () => answer("none"),
      );
    },
  });
  const notes = defineMcpClientConnection({
    ...{ url: server.url, description: "A notebook.", session: "stateful" },
  });
  const { step } = startApplication({ notes });
  const metadata = {
    ...{ toolName: "list_notes", title: "Show the notes", app },
    annotations: { readOnlyHint: true },
  };
  let session = {};
  for (const requests of [4, 1]) {
    server.requests.length = 0;
    session = await step(session, async (registry) => {
      const tools = await registry.tools();
      const tool = tools["notes__list_notes"]!;
      expect(tool).toMatchObject({ title: "Show the notes", metadata });
      expect(tool).toHaveProperty("_meta", { ui: { resourceUri }, "example.test/team": "notes" });
      const { steps } = await generateText({
        model: scriptedModel([{ tool: "notes__list_notes" }], "done"),
        ...{ tools, prompt: "List.", stopWhen: isStepCount(2) },
      });
      expect(steps[0]!.toolCalls[0]).toMatchObject({ toolMetadata: metadata });
    });
    expect(server.requests).toHaveLength(requests);
  }
});
