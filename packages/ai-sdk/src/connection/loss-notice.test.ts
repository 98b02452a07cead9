import {
  convertToModelMessages,
  generateText,
  isStepCount,
  type ToolSet,
  type UIMessage,
} from "ai";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { on, startNotebookServer } from "../../test/notebook-server.ts";
import { notebook, startSaved } from "../../test/saved-session.ts";
import { scriptedModel, toolResults } from "@durable-mcp/testing/ai-sdk";
import { callTool, startApplication } from "../../test/step.ts";
import { defineMcpClientConnection } from "./define-connection.ts";
import type { StatefulSessionOptions } from "./connection-options.ts";

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

  test("code sees it in the result's metadata, once", async () => {
    const { server, application, session } = await startSaved();
    server.forgetSessions();
    await application.step(session, async (registry) => {
      const tools = await registry.tools();
      expect(await callTool(tools, "notes__list_notes")).toHaveProperty("_meta", {
        "durable-mcp/sessionReplaced": true,
      });
      expect(await callTool(tools, "notes__list_notes")).not.toHaveProperty("_meta");
    });
  });

  test("a later step says so when this one had no result to say it in", async () => {
    const { server, application, session } = await startSaved();
    server.forgetSessions();
    const recovered = await application.step(session, async (registry) => {
      await registry.fetch("notes")(server.url, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
        },
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" }),
      });
    });
    expect(application.takeEvents()).toContain("recovered");
    const told = await application.step(recovered, async (registry) => {
      expect(await resultsOf(await registry.tools(), list)).toEqual([
        expect.stringContaining("is gone"),
      ]);
    });
    await application.step(told, async (registry) => {
      expect(await resultsOf(await registry.tools(), list)).toEqual([""]);
    });
  });

  test("a later step says so when no session could take its place at first", async () => {
    const { server, application, session } = await startSaved();
    server.forgetSessions();
    server.intercept(on("initialize", (_, response) => void response.writeHead(503).end()));
    const lost = await application.step(session, async (registry) => {
      await expect(callTool(await registry.tools(), "notes__list_notes")).rejects.toThrow("503");
    });
    server.intercept(() => "next");
    await application.step(lost, async (registry) => {
      expect(await resultsOf(await registry.tools(), list)).toEqual([
        expect.stringContaining("is gone"),
      ]);
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

  test("nothing is said of a first session", async () => {
    const server = await startNotebookServer();
    const application = startApplication({ notes: notebook(server) });
    await application.step({}, async (registry) => {
      const tools = await registry.tools();
      expect(await resultsOf(tools, list)).toEqual([""]);
      expect(await callTool(tools, "notes__list_notes")).not.toHaveProperty("_meta");
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
