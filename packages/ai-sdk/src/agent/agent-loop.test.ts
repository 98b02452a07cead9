import { ToolLoopAgent, type ToolSet } from "ai";
import { describe, expect, test } from "vitest";
import { on } from "../../../sessions/test/notebook-server.ts";
import { startNotes } from "../../test/saved-session.ts";
import { scriptedModel, toolResults, type Turn } from "@durable-mcp/testing/ai-sdk";

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
    const { server, application } = await startNotes();
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
    const { application } = await startNotes();
    await application.step({}, async (registry) => {
      const tools = await registry.tools();
      const turns = [[{ tool: "notes__fail" }], [list], "Done."] satisfies Turn[];
      const { results, text } = await run(tools, ...turns);
      expect(results).toEqual(["The pencil broke.", ""]);
      expect(text).toBe("Done.");
    });
  });

  test.each<[string, "text/event-stream" | "application/json"]>([
    ["an event stream", "text/event-stream"],
    ["a JSON answer", "application/json"],
  ])("goes on when %s ends without the answer: the outcome is unknown", async (_, type) => {
    const { server, application } = await startNotes();
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
