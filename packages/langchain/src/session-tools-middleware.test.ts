import { defineMcpClientConnection, McpSessionError, withConnections } from "@durable-mcp/ai-sdk";
import { Command, MemorySaver } from "@langchain/langgraph";
import {
  AIMessage,
  createAgent,
  createMiddleware,
  fakeModel,
  humanInTheLoopMiddleware,
  HumanMessage,
  tool,
  type ToolMessage,
  toolRetryMiddleware,
} from "langchain";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { startNotebookServer } from "../../sessions/test/notebook-server.ts";
import { notebook, startSaved } from "../../ai-sdk/test/saved-session.ts";
import { alice, bob, startApplication } from "../../ai-sdk/test/step.ts";
import { agentSaying, input, saying, startNotes } from "../test/notebook-agent.ts";
import { loadSessionTools } from "./load-session-tools.ts";
import { sessionToolsMiddleware } from "./session-tools-middleware.ts";

const add = (text: string) => ({ name: "notes__add_note", args: { text }, id: `add ${text}` });
const list = { name: "notes__list_notes", args: {}, id: "list" };
const fail = { name: "notes__fail", args: {}, id: "fail" };

interface Answer {
  readonly messages: readonly { readonly type: string; readonly content: unknown }[];
}

/** The results of tools in what an agent answers. */
function results({ messages }: Answer): unknown[] {
  return messages.filter(({ type }) => type === "tool").map(({ content }) => content);
}

/** LangChain's types for its own middleware do not fit each other with `exactOptionalPropertyTypes`. */
const untyped = (middleware: unknown) =>
  middleware as (options: object) => ReturnType<typeof sessionToolsMiddleware>;

/** A tool that asks another agent. */
const delegate = (name: string, mode: "inherit" | "isolate") =>
  tool(
    async () => {
      const answer = await withConnections({ notes: mode }, () =>
        agentSaying([list]).invoke(input),
      );
      return String(results(answer)[0]);
    },
    { name, description: "Asks another agent.", schema: z.object({}) },
  );

describe("an agent that is made once", () => {
  test("has in each run the tools and the session of that run", async () => {
    const { server, application } = await startNotes();
    // The model answers what it is asked: it has no order of its own in which runs may come.
    const model = fakeModel();
    for (let turn = 0; turn < 4; turn += 1) {
      model.respond((messages) =>
        messages.some(({ type }) => type === "tool")
          ? new AIMessage("Done.")
          : new AIMessage({ content: "", tool_calls: [add(messages.at(-1)?.text ?? "")] }),
      );
    }
    const agent = createAgent({ model, middleware: [sessionToolsMiddleware()] });
    const runAs = (principal: typeof alice, text: string) => {
      const registry = application.provider.create({ principal });
      return registry.enter(() => agent.invoke({ messages: [new HumanMessage(text)] }));
    };
    const [ofAlice, ofBob] = await Promise.all([runAs(alice, "a"), runAs(bob, "b")]);
    expect([results(ofAlice), results(ofBob)]).toEqual([["1 notes"], ["1 notes"]]);
    expect(server.sessionIds).toHaveLength(2);
  });

  test("has its tools until its stream has ended, which a run gives back", async () => {
    const { server, application } = await startNotes();
    const agent = agentSaying([add("a")], [list]);
    const { result, session } = await application.provider.run(
      { session: {}, principal: alice },
      () => agent.stream(input, { streamMode: "values" }),
    );
    let last: Answer = { messages: [] };
    for await (const state of result) last = state;
    expect(results(last)).toEqual(["1 notes", "a"]);
    expect(await session).toHaveProperty("state");
    expect(server.sessionIds).toHaveLength(1);
  });

  test("goes on in one session over steps, with one request for one call", async () => {
    const { server, application, session } = await startSaved();
    const agent = agentSaying([add("a")], [list]);
    await application.step(session, async (registry) => {
      const answer = await registry.enter(() => agent.invoke(input));
      expect(results(answer)).toEqual(["1 notes", "a"]);
    });
    expect(server.log).toEqual(["POST tools/call", "POST tools/call"]);
    expect(server.sessionIds).toHaveLength(1);
  });

  test("loads the tools once a run, however many model calls and tool calls it takes", async () => {
    const server = await startNotebookServer();
    const application = startApplication({
      // Without a session there is no kept list: each listing is a request.
      notes: defineMcpClientConnection({ url: server.url, description: "A notebook." }),
    });
    const agent = agentSaying([add("a"), add("b")], [add("c")], [list]);
    await application.step({}, async (registry) => {
      const answer = await registry.enter(() => agent.invoke(input));
      expect(results(answer).at(-1)).toBe("a, b, c");
    });
    expect(server.log.filter((line) => line === "POST tools/list")).toHaveLength(1);
  });

  test("says what is missing outside of a run", async () => {
    const agent = createAgent({ model: fakeModel(), middleware: [sessionToolsMiddleware()] });
    const error: any = await agent.invoke(input).catch((reason: unknown) => reason);
    expect(McpSessionError.isInstance(error.cause)).toBe(true);
    expect(error.cause.code).toBe("RUN_REQUIRED");
  });

  test("a sub-agent shares the session of the run, or has one of its own", async () => {
    const { server, application } = await startNotes();
    const agent = createAgent({
      model: saying(
        [add("a")],
        [
          { name: "shared", args: {}, id: "1" },
          { name: "own", args: {}, id: "2" },
        ],
      ),
      tools: [delegate("shared", "inherit"), delegate("own", "isolate")],
      middleware: [sessionToolsMiddleware()],
    });
    await application.step({}, async (registry) => {
      const answer = await registry.enter(() => agent.invoke(input));
      expect(results(answer)).toEqual(["1 notes", "a", ""]);
    });
    expect(server.sessionIds).toHaveLength(2);
    expect(server.liveSessions()).toBe(1);
  });

  test("offers the tools of the given connections alone", async () => {
    const server = await startNotebookServer();
    const application = startApplication({ notes: notebook(server), more: notebook(server) });
    const offered: string[][] = [];
    const spy = createMiddleware({
      name: "Spy",
      wrapModelCall: (request, handler) => {
        offered.push(request.tools.map(({ name }) => String(name)));
        return handler(request);
      },
    });
    const agent = createAgent({
      model: saying(),
      middleware: [
        sessionToolsMiddleware({ connections: ["more"], outputHandling: "content" }),
        spy,
      ],
    });
    await application.step({}, (registry) => registry.enter(() => agent.invoke(input)));
    expect(offered).toEqual([["more__add_note", "more__list_notes", "more__fail", "more__wait"]]);
  });
});

describe("an approval", () => {
  test("that comes in another process runs the call in the same session, and once", async () => {
    const { server, application } = await startNotes();
    // What the two processes share: the graph's checkpoints, and the agent session as JSON.
    const checkpointer = new MemorySaver();
    const startAgent = (model: ReturnType<typeof fakeModel>) =>
      createAgent({
        model,
        checkpointer,
        middleware: [
          sessionToolsMiddleware(),
          untyped(humanInTheLoopMiddleware)({ interruptOn: { notes__add_note: true } }),
        ],
      });
    const thread = { configurable: { thread_id: "chat" } };
    const session = await application.step({}, async (registry) => {
      await registry.enter(() => startAgent(saying([list], [add("a")])).invoke(input, thread));
    });
    server.requests.length = 0;
    await application.step(session, async (registry) => {
      const resume = new Command({ resume: { decisions: [{ type: "approve" }] } });
      const agent = startAgent(saying());
      const answer = await registry.enter(() => agent.invoke(resume as never, thread));
      expect(results(answer as Answer)).toEqual(["", "1 notes"]);
    });
    expect(server.log).toEqual(["POST tools/call"]);
    expect(server.sessionIds).toHaveLength(1);
  });
});

describe("errors of the tools", () => {
  test("reach the model as those of an agent with the tools themselves", async () => {
    const { application } = await startNotes();
    const wrong = { name: "notes__add_note", args: { text: 1 }, id: "wrong" };
    const unknown = { name: "notes__unknown", args: {}, id: "unknown" };
    const turns = () => saying([fail], [wrong], [unknown], [list]);
    await application.step({}, async (registry) => {
      const seen = await registry.enter(async () => {
        const tools = await loadSessionTools();
        const plain = createAgent({ model: turns(), tools });
        const ours = createAgent({ model: turns(), middleware: [sessionToolsMiddleware()] });
        const answers = [await plain.invoke(input), await ours.invoke(input)];
        return answers.map(({ messages }) =>
          messages
            .filter((message) => message.type === "tool")
            .map((message) => {
              const { text, status, name, tool_call_id } = message as ToolMessage;
              // Only the list of those that there are differs, and stacks.
              const [line] = text.split(/, try one of|\n {4}at/);
              return { line, status, name, tool_call_id };
            }),
        );
      });
      expect(seen[1]).toEqual(seen[0]);
      expect(seen[1]?.map(({ status }) => status)).toEqual(["error", "error", "error", "success"]);
    });
  });

  test("are seen by middleware that comes after", async () => {
    const { server, application } = await startNotes();
    const agent = createAgent({
      model: saying([fail]),
      middleware: [
        sessionToolsMiddleware(),
        untyped(toolRetryMiddleware)({ maxRetries: 2, initialDelayMs: 1, onFailure: "error" }),
      ],
    });
    await application.step({}, async (registry) => {
      const answer = await registry.enter(() => agent.invoke(input));
      expect(results(answer)).toEqual([expect.stringContaining("The pencil broke.")]);
    });
    expect(server.log.filter((line) => line === "POST tools/call")).toHaveLength(3);
  });

  test("other tools are left to LangChain", async () => {
    const { application } = await startNotes();
    const broken = tool(
      () => {
        throw new RangeError("Broken.");
      },
      { name: "broken", description: "Breaks.", schema: z.object({}) },
    );
    const passing = createMiddleware({
      name: "Passing",
      wrapToolCall: (request, handler) => handler(request),
    });
    for (const middleware of [[sessionToolsMiddleware()], [passing]]) {
      const agent = createAgent({
        model: saying([{ name: "broken", args: {}, id: "1" }]),
        tools: [broken],
        middleware,
      });
      await application.step({}, async (registry) => {
        await expect(registry.enter(() => agent.invoke(input))).rejects.toThrow("Broken.");
      });
    }
  });

  test("an abort ends the run, and the call on the server", async () => {
    const { server, application } = await startNotes();
    const agent = agentSaying([{ name: "notes__wait", args: {}, id: "1" }]);
    await application.step({}, async (registry) => {
      const controller = new AbortController();
      const running = registry.enter(() => agent.invoke(input, { signal: controller.signal }));
      running.catch(() => undefined);
      await expect.poll(() => server.waits).toEqual(["started"]);
      controller.abort();
      await expect(running).rejects.toThrow(/abort/i);
      await expect.poll(() => server.waits).toEqual(["started", "aborted"]);
    });
  });
});
