import { createMemoryStore } from "@durable-mcp/core";
import { waitingCallOf } from "@durable-mcp/core/internal";
import type { ModelMessage, ToolSet } from "ai";
import { beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { type AskingServer, startAskingServer, yes } from "../../../sessions/test/asking-server.ts";
import { collectEvents } from "../../test/collect-events.ts";
import { scriptedModel, toolResults, type Turn } from "@durable-mcp/testing/ai-sdk";
import { alice } from "../../test/step.ts";
import { majors } from "../../test/waiting-tool.ts";
import {
  agentTool,
  createDurableAgent,
  createDurableSessions,
  currentConnections,
  defineMcpClientConnection,
  stopWhenWaiting,
} from "../index.ts";

const use = { principal: alice };
const options = { sessionId: "chat", ...use };
const asJson = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;
const user = (content: string): ModelMessage => ({ role: "user", content });
const order: Turn = [{ tool: "shop__order", input: { item: "tea" } }];
const look: Turn = [{ tool: "shop__look", input: { item: "tea" } }];
const delegate: Turn = [{ tool: "delegate", input: { prompt: "Order tea." } }];
const start = [user("Have tea ordered.")];

let shop: AskingServer;
let store: ReturnType<typeof createMemoryStore>;
beforeEach(async () => {
  shop = await startAskingServer();
  store = createMemoryStore();
});

/** Sessions of a process of its own. */
function sessionsOf(onEvent?: (event: never) => void) {
  const { url } = shop;
  const connections = {
    shop: defineMcpClientConnection({ url, description: "A.", waiting: true }),
  };
  return createDurableSessions({ connections, store, onEvent: onEvent as never });
}

const waiting = async () => await sessionsOf().waiting("chat", use);

/** Answers all questions, in a process of its own. */
async function answer(): Promise<void> {
  for (const call of await waiting()) {
    if (call.type !== "question") continue;
    await sessionsOf().answer("chat", call.id, yes, use);
  }
}

const effects = () => shop.legs.filter(({ params }) => params.inputResponses).length;

/** What the messages have as results of tool calls. */
const placeholders = (messages: readonly ModelMessage[]) =>
  messages
    .filter(({ role }) => role === "tool")
    .flatMap(({ content }) => (JSON.stringify(content).includes('"waiting"') ? [content] : []));

describe.each(majors)("agentTool with AI SDK $major", ({ ai }) => {
  type MakeTools = (tools: ToolSet, inner: ReturnType<typeof scriptedModel>) => ToolSet;

  /** A step of the root agent, in a process of its own. */
  async function step(
    before: readonly ModelMessage[],
    turns: Turn[],
    innerTurns: Turn[],
    makeTools: MakeTools,
    chatId = "chat",
  ) {
    const [model, inner] = [scriptedModel(...turns), scriptedModel(...innerTurns)];
    const after = await sessionsOf().run(chatId, use, async (run) => {
      const own = (await run.tools()) as ToolSet;
      const tools = { ...own, ...makeTools(own, inner) };
      const resumed = await run.waiting.resume(before, { tools });
      const { messages } = resumed;
      if (!resumed.goesOn) return messages;
      const stop = stopWhenWaiting({ stopWhen: ({ steps }) => steps.length === 10 });
      const result = await ai.generateText({ model, tools: resumed.tools, messages, ...stop });
      return [...messages, ...(result.responseMessages ?? result.response.messages)];
    });
    return { messages: asJson(after), model, inner, told: toolResults(model) };
  }

  const loopAgent = (model: ReturnType<typeof scriptedModel>, tools: ToolSet) =>
    new ai.ToolLoopAgent({ model, tools, ...stopWhenWaiting() });
  const wrapped: MakeTools = (tools, inner) => ({
    delegate: agentTool({ description: "Orders.", agent: loopAgent(inner, tools) }) as never,
  });

  const chatty: MakeTools = (tools, model) => ({
    delegate: agentTool({
      description: "Orders.",
      agent: () => new ai.ToolLoopAgent({ model, tools }),
    }) as never,
  });
  const streaming: MakeTools = (tools, inner) => ({
    delegate: agentTool({
      description: "Orders.",
      agent: loopAgent(inner, tools),
      stream: true,
    }) as never,
  });
  const middle: MakeTools = (tools, model) => ({
    delegate: agentTool({
      description: "Has others order.",
      agent: loopAgent(scriptedModel("Both."), {
        delegate: agentTool({ description: "Orders.", agent: loopAgent(model, tools) }) as never,
      }),
    }) as never,
  });
  const below: MakeTools = (tools, inner) => {
    const bare = ai.tool({
      inputSchema: z.object({ prompt: z.string() }),
      execute: async ({ prompt }) => (await loopAgent(inner, tools).generate({ prompt })).text,
    });
    const agent = loopAgent(
      scriptedModel([{ tool: "bare", input: { prompt: "Order." } }], "It failed."),
      { bare },
    );
    return { delegate: agentTool({ description: "Orders.", agent }) as never };
  };

  test("a question in a sub-agent waits under the root's call, and its answer gets back there", async () => {
    const first = await step(start, [delegate, "never"], [order, "never"], wrapped);
    expect(placeholders(first.messages)).toHaveLength(1);
    expect([first.model, first.inner].map((each) => each.doGenerateCalls.length)).toEqual([1, 1]);
    expect(await waiting()).toMatchObject([
      { type: "question", tool: "order", path: [{ toolCallId: "call-0-0" }] },
    ]);

    const impatient = await step(first.messages, ["never"], ["never"], wrapped);
    expect(impatient.messages).toEqual(first.messages);

    await answer();
    const last = await step(first.messages, ["Ordered."], [look, "Tea is ordered."], wrapped);
    expect(toolResults(last.inner)).toEqual(["order tea is done.", "look tea is done."]);
    expect(last.told).toEqual(["text: Tea is ordered."]);
    expect(last.messages.at(-1)).toMatchObject({ role: "assistant" });
    expect(effects()).toBe(1);
    expect(await waiting()).toEqual([]);
  });

  test("a loop of the sub-agent that does not stop goes on without its comment", async () => {
    const first = await step(start, [delegate, "never"], [order, "It waits."], chatty);
    expect(placeholders(first.messages)).toHaveLength(1);
    await answer();
    const last = await step(first.messages, ["Ordered."], ["Tea is ordered."], chatty);
    expect(toolResults(last.inner)).toEqual(["order tea is done."]);
    expect(JSON.stringify(last.inner.doGenerateCalls)).not.toContain("It waits.");
    expect(last.told).toEqual(["text: Tea is ordered."]);
  });

  test("the application may keep the sub-agent's messages", async () => {
    const kept = new Map<string, string>();
    const history = {
      load: async (key: string) => JSON.parse(kept.get(key)!) as ModelMessage[],
      save: async (key: string, messages: ModelMessage[]) =>
        void kept.set(key, JSON.stringify(messages)),
    };
    const own: MakeTools = (tools, inner) => ({
      delegate: agentTool({
        description: "Orders.",
        agent: loopAgent(inner, tools),
        history,
      }) as never,
    });
    const first = await step(start, [delegate], [order], own);
    expect(kept.size).toBe(1);
    const [ofChat] = kept.keys();
    await step(start, [delegate], [order], own, "another chat");
    expect(kept.size).toBe(2);
    for (const other of kept.keys()) if (other !== ofChat) kept.delete(other);
    const { records } = await store.list({ prefix: "", limit: 100 });
    expect(JSON.stringify(records)).not.toContain('Order tea."}]');
    await answer();
    const waits = await store.list({ prefix: "", limit: 100 });
    const last = await step(first.messages, ["Ordered."], ["Tea is ordered."], own);
    expect(last.told).toEqual(["text: Tea is ordered."]);
    expect([...kept.values()][0]).toContain("Tea is ordered.");

    // A process that ended between this and the end of the root's call.
    store = createMemoryStore();
    for (const { key, value, owner, expiresAt } of waits.records)
      await store.put(key, value, null, { owner, expiresAt });
    const again = await step(first.messages, ["Ordered."], ["never"], own);
    expect(again.inner.doGenerateCalls).toEqual([]);
    expect(again.told).toEqual(["text: Tea is ordered."]);
  });

  test("a call that the model repeats while it waits joins it, and another one does not", async () => {
    const first = await step(start, [delegate], [order], wrapped);
    const asked = [...first.messages, user("Is it done?")];
    const pushy = await step(asked, [delegate, "It still waits."], ["never"], wrapped);
    expect(pushy.inner.doGenerateCalls).toEqual([]);
    expect(await waiting()).toHaveLength(1);

    const another: Turn = [{ tool: "delegate", input: { prompt: "Look for tea." } }];
    const busy = [...pushy.messages, user("Look for it.")];
    const looked = await step(busy, [another, "There is."], [look, "There is tea."], wrapped);
    expect(looked.told.at(-1)).toBe("text: There is tea.");
    await answer();
    const last = await step(looked.messages, ["Ordered."], ["Tea is ordered."], wrapped);
    const ordered = "text: Tea is ordered.";
    expect(last.told).toEqual([ordered, ordered, "text: There is tea."]);
    expect(effects()).toBe(1);
  });

  test("streams the sub-agent's message, and waits in between", async () => {
    const first = await step(start, [delegate], [order], streaming);
    expect(placeholders(first.messages)).toHaveLength(1);
    await answer();
    const last = await step(first.messages, ["Ordered."], ["Tea is ordered."], streaming);
    expect(last.told).toEqual(["text: Tea is ordered."]);
  });

  test("in several levels, and in parallel, each result gets to its own call", async () => {
    const levels: MakeTools = (tools, model) => ({
      delegate: agentTool({
        description: "Has others order.",
        agent: loopAgent(
          scriptedModel(
            [...delegate, { tool: "delegate", input: { prompt: "And milk." } }] as Turn,
            "Both.",
          ),
          {
            delegate: agentTool({
              description: "Orders.",
              agent: loopAgent(model, tools),
            }) as never,
          },
        ),
      }) as never,
    });
    const milk: Turn = [{ tool: "shop__order", input: { item: "milk" } }];
    const first = await step(start, [delegate], [order, milk], levels);
    const listed = await waiting();
    expect(listed.map((call) => (call.type === "question" ? call.path?.length : 0))).toEqual([
      2, 2,
    ]);
    await answer();
    const last = await step(first.messages, ["Done."], ["One.", "Another."], middle);
    expect(last.told).toEqual(["text: Both."]);
    expect(effects()).toBe(2);
  });

  const bare: MakeTools = (tools, inner) => ({
    delegate: ai.tool({
      inputSchema: z.object({ prompt: z.string() }),
      execute: async ({ prompt }) => (await loopAgent(inner, tools).generate({ prompt })).text,
    }),
  });

  test("without agentTool the call is taken back, and an error names the tool", async () => {
    const { told } = await step(start, [delegate, "I see."], [order, "never"], bare);
    expect(told).toEqual([
      expect.stringMatching(/^error-text: .*tools\.delegate.*order.*agentTool/),
    ]);
    expect(await waiting()).toEqual([]);
  });

  test("in a tool below agentTool that is none, too", async () => {
    const { told } = await step(start, [delegate, "I see."], [order, "never"], below);
    expect(told[0]).toMatch(/agentTool|It failed/);
    expect(await waiting()).toEqual([]);
  });
});

function agents(turns: Turn[], innerTurns: Turn[]) {
  const [model, inner] = [scriptedModel(...turns), scriptedModel(...innerTurns)];
  const helper = createDurableAgent({ sessions: sessionsOf(), model: inner });
  const delegateTool = {
    inputSchema: z.object({ prompt: z.string() }),
    execute: async ({ prompt }: { prompt: string }) =>
      (await helper.generate({ prompt, options })).text,
  };
  const root = createDurableAgent({
    sessions: sessionsOf(),
    model,
    tools: { delegate: delegateTool },
  });
  return { root, model, inner };
}

describe("a durable agent in a tool of another", () => {
  test("waits and goes on without further code", async () => {
    const first = agents([delegate, "never"], [order, "never"]);
    const result = await first.root.generate({ messages: start, options });
    expect(result).toMatchObject({ text: "", rawFinishReason: "waiting" });
    const messages = asJson([...start, ...result.responseMessages]);
    expect(placeholders(messages)).toHaveLength(1);
    expect(await waiting()).toMatchObject([
      { type: "question", path: [{ toolName: "delegate", toolCallId: "call-0-0" }] },
    ]);
    await answer();
    const last = agents(["Ordered."], ["Tea is ordered."]);
    expect(await last.root.generate({ messages, options })).toMatchObject({ text: "Ordered." });
    expect(toolResults(last.inner)).toEqual(["order tea is done."]);
    expect(toolResults(last.model)).toEqual(["text: Tea is ordered."]);
    expect(effects()).toBe(1);
  });

  test("may stream", async () => {
    const first = agents([delegate, "never"], [order, "never"]);
    const stream = await first.root.stream({ messages: start, options });
    await stream.consumeStream();
    const messages = asJson([...start, ...(await stream.responseMessages)]);
    expect(placeholders(messages)).toHaveLength(1);
    await answer();
    const last = agents(["Ordered."], ["Tea is ordered."]);
    expect(await (await last.root.stream({ messages, options })).text).toBe("Ordered.");
  });
});

test("a plain agent in a tool of a durable agent is refused, and its call is taken back", async () => {
  const { ai } = majors[1]!;
  const { events, onEvent } = collectEvents();
  const model = scriptedModel(delegate, "I see.");
  const root = createDurableAgent({
    sessions: sessionsOf(onEvent as never),
    model,
    tools: {
      delegate: ai.tool({
        inputSchema: z.object({ prompt: z.string() }),
        execute: async ({ prompt }) => {
          const tools = (await currentConnections().tools()) as ToolSet;
          const inner = new ai.ToolLoopAgent({ model: scriptedModel(order, "It waits."), tools });
          return (await inner.generate({ prompt })).text;
        },
      }),
    },
  });
  await root.generate({ messages: start, options });
  expect(toolResults(model)).toEqual([expect.stringMatching(/^error-text: .*agentTool/)]);
  expect(await waiting()).toEqual([]);
  expect(JSON.stringify(events)).toContain("withdrawn");
});

test("a placeholder of the tool is one for pages, too", async () => {
  const { ai } = majors[1]!;
  const output = await sessionsOf().run("chat", use, async (run) => {
    const tools = (await run.tools()) as ToolSet;
    const agent = new ai.ToolLoopAgent({
      model: scriptedModel(order),
      tools,
      ...stopWhenWaiting(),
    });
    const { execute } = agentTool({ description: "Orders.", agent });
    return await execute!({ prompt: "Order." }, { toolCallId: "root", messages: [] } as never);
  });
  expect(waitingCallOf(output)).toMatchObject({ type: "sub-agent", toolCallId: "root" });
});
