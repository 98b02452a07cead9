import { ToolLoopAgent, type ToolSet } from "ai";
import { describe, expect, test } from "vitest";
import { type NotebookServer, on, startNotebookServer } from "../../test/notebook-server.ts";
import { scriptedModel, toolResults, type Turn } from "@durable-mcp/testing/ai-sdk";
import { startApplication } from "../../test/step.ts";
import { defineMcpClientConnection } from "../connection/define-connection.ts";

const notebook = ({ url }: NotebookServer) =>
  defineMcpClientConnection({ url, description: "A notebook.", session: "stateful" });

/** Runs an agent on a scripted model; gives what the model was told of its calls. */
async function run(tools: ToolSet, ...turns: Turn[]) {
  const model = scriptedModel(...turns);
  const agent = new ToolLoopAgent({ model, tools });
  const { steps, text } = await agent.generate({ prompt: "Keep my notes." });
  const parts = steps.flatMap(({ content }) => content);
  const errors = parts.flatMap((part) => (part.type === "tool-error" ? [part.error] : []));
  return { results: toolResults(model), errors, text };
}

const add = (text: string) => ({ tool: "notes__add_note", input: { text } });
const list = { tool: "notes__list_notes" };

describe("an agent's run", () => {
  test("calls the tools of the session, at once and one after the other", async () => {
    const server = await startNotebookServer();
    const application = startApplication({ notes: notebook(server) });
    await application.step({}, async (registry) => {
      const tools = await registry.tools();
      const { results, text } = await run(tools, [add("a"), add("b")], [list], "Done.");
      expect(results.slice(0, 2).toSorted()).toEqual(["1 notes", "2 notes"]);
      expect(results[2]).toMatch(/^(a, b|b, a)$/);
      expect(text).toBe("Done.");
    });
    expect(server.sessionIds).toHaveLength(1);
  });

  test("goes on when a tool fails, and the model is told why", async () => {
    const server = await startNotebookServer();
    const application = startApplication({ notes: notebook(server) });
    await application.step({}, async (registry) => {
      const tools = await registry.tools();
      const turns = [[{ tool: "notes__fail" }], [list], "Done."] satisfies Turn[];
      const { results, text } = await run(tools, ...turns);
      expect(results).toEqual(["The pencil broke.", ""]);
      expect(text).toBe("Done.");
    });
  });

  test("goes on in a new session when the server lost the old one, once", async () => {
    const server = await startNotebookServer();
    const application = startApplication({ notes: notebook(server) });
    const session = await application.step({}, async (registry) => {
      const tools = await registry.tools();
      let calls = 0;
      server.intercept(
        on("tools/call", () => {
          calls += 1;
          if (calls === 2) server.forgetSessions();
          return "next";
        }),
      );
      const { results, errors } = await run(tools, [add("a")], [add("b")], [list], "Done.");
      expect(results).toEqual(["1 notes", expect.stringMatching(/is gone.*\n1 notes$/), "b"]);
      expect(errors).toEqual([]);
    });
    expect(server.sessionIds).toHaveLength(2);
    expect(application.takeEvents()).toEqual(["started", "lost", "recovered"]);

    server.requests.length = 0;
    await application.step(session, async (registry) => {
      const { results } = await run(await registry.tools(), [list], "Done.");
      expect(results).toEqual(["b"]);
    });
    expect(server.log).toEqual(["POST tools/call"]);
  });

  test.each<[string, "text/event-stream" | "application/json"]>([
    ["an event stream", "text/event-stream"],
    ["a JSON answer", "application/json"],
  ])("goes on when %s ends without the answer: the outcome is unknown", async (_, type) => {
    const server = await startNotebookServer();
    const application = startApplication({ notes: notebook(server) });
    await application.step({}, async (registry) => {
      const tools = await registry.tools();
      server.intercept(
        on("tools/call", ({ message }, response) => {
          if (message.params.name !== "add_note") return "next";
          response.writeHead(200, { "content-type": type });
          response.write(type === "application/json" ? '{"jsonrpc":' : ": working\n\n");
          setTimeout(() => response.destroy(), 20);
          return undefined;
        }),
      );
      const { results, errors } = await run(tools, [add("a")], [list], "Done.");
      expect(results).toEqual([
        expect.stringMatching(/^error-text: McpSessionError: .*is unknown; check/),
        "",
      ]);
      expect(errors).toMatchObject([
        {
          code: "OUTCOME_UNKNOWN",
          data: { method: "tools/call", origin: server.origin, connection: "notes" },
        },
      ]);
    });
    expect(server.log.filter((line) => line === "POST tools/call")).toHaveLength(2);
    expect(application.takeEvents()).toEqual(["started"]);
  });
});
