import {
  convertToModelMessages,
  generateText,
  isStepCount,
  type ToolSet,
  type UIMessage,
} from "ai";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { startNotebookServer } from "../../../sessions/test/notebook-server.ts";
import { startSaved } from "../saved-session.ts";
import { scriptedModel, toolResults } from "@durable-mcp/testing/ai-sdk";
import { callTool, startApplication } from "../step.ts";
import { defineMcpClientConnection, type StatefulSessionOptions } from "../../src/index.ts";

const list = { tool: "notes__list_notes" };
const add = { tool: "notes__add_note", input: { text: "a" } };

/** What the model is sent as the results of one call after the other. */
async function resultsOf(tools: ToolSet, ...calls: (typeof list)[]): Promise<string[]> {
  const model = scriptedModel(...calls.map((call) => [call]), "Done.");
  await generateText({ model, tools, prompt: "Go.", stopWhen: isStepCount(9) });
  return toolResults(model);
}

const withSession = (url: string, session: Omit<StatefulSessionOptions, "mode">) =>
  defineMcpClientConnection({
    url,
    description: "A notebook.",
    session: { mode: "stateful", ...session },
  });

describe("after a lost session was replaced", () => {
  test("the next tool result says so to the model, and only that one", async () => {
    const { server, application, session } = await startSaved();
    server.forgetSessions();
    await application.step(session, async (registry) => {
      const results = await resultsOf(await registry.tools(), add, list);
      expect(results).toEqual([expect.stringMatching(/^Note: .* is gone; .*\n1 notes$/), "a"]);
    });
  });

  test("the text can be set, and turned off for the model but not for code", async () => {
    const server = await startNotebookServer();
    for (const [lossNotice, expected] of [
      ["Start over.", "Start over.\n"],
      [false, ""],
    ] as const) {
      const application = startApplication({ notes: withSession(server.url, { lossNotice }) });
      const session = await application.step({}, async (registry) => {
        await resultsOf(await registry.tools(), list);
      });
      server.forgetSessions();
      await application.step(session, async (registry) => {
        const tools = await registry.tools();
        expect(await resultsOf(tools, list)).toEqual([expected]);
      });
    }
  });

  test("the results of typed tools say so too", async () => {
    const server = await startNotebookServer({
      setUp(mcp) {
        mcp.registerTool("count", { outputSchema: { notes: z.number() } }, () => ({
          content: [],
          structuredContent: { notes: 3 },
        }));
      },
    });
    const application = startApplication({
      notes: defineMcpClientConnection({
        url: server.url,
        description: "A notebook.",
        session: "stateful",
        schemas: {
          count: { inputSchema: z.object({}), outputSchema: z.object({ notes: z.number() }) },
        },
      }),
    });
    const count = { tool: "notes__count" };
    const session = await application.step({}, async (registry) => {
      expect(await resultsOf(await registry.tools(), count)).toEqual(["json: [object Object]"]);
    });
    server.forgetSessions();
    await application.step(session, async (registry) => {
      expect(await resultsOf(await registry.tools(), count)).toEqual([
        expect.stringMatching(/is gone.*\n\{"notes":3\}$/),
      ]);
    });
  });

  test("a history that is loaded again says so in the same place", async () => {
    const { server, application, session } = await startSaved();
    server.forgetSessions();
    await application.step(session, async (registry) => {
      const tools = await registry.tools();
      const output: unknown = await callTool(tools, "notes__list_notes");
      const history = JSON.parse(JSON.stringify([toolMessage(output)])) as UIMessage[];
      const messages = await convertToModelMessages(history, { tools });
      expect(JSON.stringify(messages)).toContain("is gone");
    });
  });
});

function toolMessage(output: unknown): UIMessage {
  return {
    id: "message",
    role: "assistant",
    parts: [
      {
        type: "dynamic-tool",
        toolName: "notes__list_notes",
        toolCallId: "call-of-yesterday",
        state: "output-available",
        input: {},
        output,
      },
    ],
  };
}
