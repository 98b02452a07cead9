import { createMemoryStore } from "@durable-mcp/core";
import {
  experimental_createSteering as createSteering,
  type ModelMessage,
  stepCountIs,
  tool,
  type UIMessage,
} from "ai";
import { beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { callsOf } from "../../../sessions/test/calls-of.ts";
import { type AskingServer, startAskingServer, yes } from "../../../sessions/test/asking-server.ts";
import { scriptedModel, toolResults, type Turn } from "@durable-mcp/testing/ai-sdk";
import { alice, bob } from "../../test/step.ts";
import { takeAnswer } from "../../test/ui-chunks.ts";
import { createDurableSessions, defineMcpClientConnection } from "../index.ts";
import { waitingCallOf } from "@durable-mcp/core/internal";
import { createDurableAgent } from "./durable-agent.ts";
import { createDurableAgentUIStreamResponse } from "./durable-agent-ui-stream.ts";

const use = { principal: alice };
const options = { sessionId: "chat", principal: alice };
const order = [{ tool: "shop__order", input: { item: "tea" } }];
const bothOrders = [...order, { tool: "shop__order_twice", input: { item: "milk" } }];
const waited = { finishReason: "other", rawFinishReason: "waiting", text: "" };
const user = (content: string): ModelMessage => ({ role: "user", content });

/** An application whose every request is a process of its own, with a conversation that is kept as JSON. */
function startApplication({ url }: AskingServer) {
  const store = createMemoryStore();
  const sessions = () =>
    createDurableSessions({
      connections: { shop: defineMcpClientConnection({ url, description: "A.", waiting: true }) },
      store,
    });
  return {
    sessions,
    agent: (turns: Turn[], settings: object = {}) => {
      const model = scriptedModel(...turns);
      return Object.assign(createDurableAgent({ sessions: sessions(), model, ...settings }), {
        model,
      });
    },
    async answer(first = "order") {
      const calls = callsOf(await sessions().waiting("chat", use));
      const call = calls.find((each) => each.tool === first) ?? calls[0]!;
      return await sessions().answer("chat", call.id, yes, use);
    },
  };
}

const asJson = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;

let shop: AskingServer;
let app: ReturnType<typeof startApplication>;
beforeEach(async () => {
  shop = await startAskingServer();
  app = startApplication(shop);
});

/** A conversation in which a call waits. */
async function begin(turn: Turn = order): Promise<ModelMessage[]> {
  const messages = [user("Order.")];
  const agent = app.agent([turn, "never"]);
  const result = await agent.generate({ messages, options });
  expect(result).toMatchObject(waited);
  expect(agent.model.doGenerateCalls).toHaveLength(1);
  return asJson([...messages, ...result.responseMessages]);
}

/** A chat as a browser has it. */
function startChat() {
  const messages: UIMessage[] = [];
  const respond = async (...turns: Turn[]) => {
    const agent = app.agent(turns);
    const uiMessages = asJson(messages) as unknown[];
    const headers = { "x-chat": "1" };
    const request = { agent, uiMessages, options, headers, status: 202 };
    return { agent, response: await createDurableAgentUIStreamResponse(request) };
  };
  const send = async (...turns: Turn[]) => {
    const { agent, response } = await respond(...turns);
    expect(response.status).toBe(202);
    expect(response.headers.get("x-chat")).toBe("1");
    const chunks = await takeAnswer(messages, response);
    return { chunks, told: toolResults(agent.model), calls: agent.model.doStreamCalls };
  };
  const say = (text: string) =>
    messages.push({ id: crypto.randomUUID(), role: "user", parts: [{ type: "text", text }] });
  const outputs = () =>
    messages.flatMap(({ parts }) =>
      parts.flatMap((part) => ("output" in part ? [part.output] : [])),
    );
  return { messages, send, say, outputs, respond };
}

describe("generate of a durable agent", () => {
  test("ends when a call waits, and goes on with its result in a later process", async () => {
    const messages = await begin();
    expect(await app.answer()).toMatchObject({ state: "settled" });
    const later = app.agent(["Done."]);
    expect(await later.generate({ messages, options })).toMatchObject({ text: "Done." });
    expect(toolResults(later.model)).toEqual(["order tea is done."]);
    expect(shop.legs).toHaveLength(2);
  });

  test("takes the messages as a prompt, too", async () => {
    const prompt = await begin();
    await app.answer();
    const later = app.agent(["Done."]);
    const { text } = await (await later.stream({ prompt, options })).finalStep;
    expect(text).toBe("Done.");
    expect(toolResults(later.model)).toEqual(["order tea is done."]);
  });

  test("answers a user who writes while a call waits, and later tells of the result", async () => {
    const asked = [...(await begin()), user("Never mind. What is 2 + 2?")];
    const busy = app.agent(["4."]);
    const result = await busy.generate({ messages: asked, options });
    expect(result.text).toBe("4.");
    expect(toolResults(busy.model)[0]).toContain("Do not make the call again");
    const messages = asJson([...asked, ...result.responseMessages]);

    const early = app.agent(["never"]);
    expect(await early.generate({ messages, options })).toMatchObject(waited);
    await app.answer();
    const later = app.agent(["It is ordered."]);
    expect(await later.generate({ messages, options })).toMatchObject({ text: "It is ordered." });
    expect(toolResults(later.model)).toEqual(["order tea is done."]);
    const told = later.model.doGenerateCalls[0]!.prompt.at(-1);
    expect(JSON.stringify(told)).toMatch(/"user".*call of shop__order that waited is over/);
  });

  test("does not send a call again that the model repeats, and gives it the same result", async () => {
    const asked = [...(await begin()), user("Is it done?")];
    const pushy = app.agent([[{ tool: "shop__look" }], order, "It still waits."]);
    const result = await pushy.generate({ messages: asked, options });
    expect(result.text).toBe("It still waits.");
    expect(shop.legs.map(({ params }) => params.name)).toEqual(["order", "look"]);
    expect(await app.sessions().waiting("chat", use)).toHaveLength(1);
    await app.answer();
    const messages = asJson([...asked, ...result.responseMessages]);
    const later = app.agent(["Both."]);
    await later.generate({ messages, options });
    const done = "order tea is done.";
    expect(toolResults(later.model)).toEqual([done, "look undefined is done.", done]);
  });

  test("takes the call back when the user writes, if the agent is told to", async () => {
    const asked = [...(await begin()), user("Never mind.")];
    const agent = app.agent(["As you like."], { whileWaiting: "withdraw" });
    expect(await agent.generate({ messages: asked, options })).toMatchObject({
      text: "As you like.",
    });
    expect(toolResults(agent.model)[0]).toContain("taken the call back");
    expect(await app.sessions().waiting("chat", use)).toEqual([]);
    expect(shop.legs).toHaveLength(1);
  });

  test("holds the conversation while a call waits, if it is told to, and says so", async () => {
    const messages = [...(await begin(bothOrders)), user("Is it done?")];
    await app.answer();
    const impatient = app.agent(["never"], { whileWaiting: "hold" });
    const held = await impatient.generate({ messages, options });
    expect(held).toMatchObject({ finishReason: "other", rawFinishReason: "waiting" });
    expect(held.text).toMatch(/call of shop__order_twice.* still waits/);
    const streamed = await impatient.stream({ messages, options });
    expect(await streamed.finishReason).toBe("other");
    expect([...impatient.model.doGenerateCalls, ...impatient.model.doStreamCalls]).toEqual([]);

    await app.answer();
    await app.answer();
    const later = app.agent(["Both."]);
    expect(await later.generate({ messages, options })).toMatchObject({ text: "Both." });
    expect(toolResults(later.model)).toEqual(["order tea is done.", "order_twice milk is done."]);
  });

  test("does not call the model either where it has spoken since the call", async () => {
    const messages: ModelMessage[] = [
      ...(await begin()),
      { role: "assistant", content: "Another agent said so." },
      user("And now?"),
    ];
    const agent = app.agent(["never"], { whileWaiting: "hold" });
    expect(await agent.generate({ messages, options })).toMatchObject({
      ...waited,
      text: expect.stringContaining("waits"),
    });
    await app
      .sessions()
      .withdraw("chat", callsOf(await app.sessions().waiting("chat", use))[0]!.id, use);
    const later = app.agent(["Then not."]);
    expect(await later.generate({ messages, options })).toMatchObject({ text: "Then not." });
    expect(toolResults(later.model)[0]).toContain("taken the call back");
  });

  test("tells the model that another principal's call is none", async () => {
    const messages = await begin();
    const agent = app.agent(["Hm."]);
    await agent.generate({ messages, options: { ...options, principal: bob } });
    expect(toolResults(agent.model)[0]).toMatch(/^error-text: .*NOT_WAITING|not kept/);
    expect(await app.sessions().waiting("chat", use)).toHaveLength(1);
  });

  test("resumes the messages that prepareCall loads, which sees the given settings", async () => {
    const history = await begin();
    await app.answer();
    const seen: object[] = [];
    const stopWhen = stepCountIs(3);
    const prepareCall = (call: object) => {
      seen.push(call);
      return { ...call, prompt: undefined, messages: history };
    };
    const agent = app.agent(["Done."], { prepareCall, stopWhen });
    expect(await agent.generate({ prompt: "Go on.", options })).toMatchObject({ text: "Done." });
    expect(toolResults(agent.model)).toEqual(["order tea is done."]);
    expect(seen).toMatchObject([{ options, stopWhen }]);
  });

  test("keeps to the agent's own stop conditions and prepareStep", async () => {
    const look = [{ tool: "shop__look" }];
    const steps: number[] = [];
    const settings = {
      stopWhen: stepCountIs(2),
      prepareStep: ({ stepNumber }: { stepNumber: number }) => void steps.push(stepNumber),
    };
    const agent = app.agent([look, look, "never"], settings);
    const result = await agent.generate({ messages: [user("Look.")], options });
    expect(result.steps).toHaveLength(2);
    expect(steps).toEqual([0, 1]);
  });

  test("can be steered, and own tools stay", async () => {
    const own = tool({ inputSchema: z.object({}), execute: () => "own" });
    const agent = app.agent([[{ tool: "own" }], "Done."], { tools: { own } });
    const open = await agent.open(options);
    const steering = createSteering();
    void steering.steer("Be quick.");
    const result = await open.generate({ prompt: "Go.", experimental_steering: steering });
    expect(result.text).toBe("Done.");
    expect(toolResults(agent.model)).toEqual(["text: own"]);
    expect(JSON.stringify(agent.model.doGenerateCalls.at(-1)!.prompt)).toContain("Be quick.");
    await open.dispose();
  });

  test("reports a store that fails, instead of going on without the result", async () => {
    const messages = await begin();
    const broken = createMemoryStore();
    const { url } = shop;
    const agent = createDurableAgent({
      connections: { shop: defineMcpClientConnection({ url, description: "A.", waiting: true }) },
      store: { ...broken, get: () => Promise.reject(new Error("The disk is full.")) },
      model: scriptedModel("never"),
    });
    await expect(agent.generate({ messages, options })).rejects.toMatchObject({
      code: "STORE_FAILED",
    });
  });
});

describe("an open agent", () => {
  test("answers, and goes on in the same session", async () => {
    const agent = app.agent([order, "Done."]);
    const open = await agent.open(options);
    const first = await open.generate({ prompt: "Order." });
    const [call] = callsOf(await open.waiting.list());
    expect(call).toMatchObject({ state: "waiting", tool: "order" });
    await open.waiting.answer(call!.id, yes);
    const messages = [user("Order."), ...first.responseMessages];
    expect(await open.generate({ messages })).toMatchObject({ text: "Done." });
    expect(toolResults(agent.model)).toEqual(["order tea is done."]);
    await open.dispose();
  });
});

describe("a stream of UI messages", () => {
  test("gives the browser's copy the result before the agent goes on", async () => {
    const { messages, send, say, outputs } = startChat();
    say("Order.");
    const first = await send(order, "never");
    expect(first.calls).toHaveLength(1);
    expect(outputs().map(waitingCallOf)).toMatchObject([{ tool: "order", state: "waiting" }]);
    const [call] = callsOf(await app.sessions().waiting("chat", use));
    expect(waitingCallOf(outputs()[0])).toEqual(asJson(call));

    // The page is loaded again while the call waits.
    const waiting = await send("never");
    expect(waiting.calls).toEqual([]);
    // A chat that sends by itself sees the silent step.
    expect(waiting.chunks.map(({ type }) => type)).toContain("tool-output-available");
    expect(messages).toHaveLength(2);
    expect(outputs()).toHaveLength(1);

    await app.answer();
    const { chunks, told, calls } = await send("Done.");
    expect(chunks[0]).toMatchObject({ type: "tool-output-available" });
    expect(told).toEqual(["order tea is done."]);
    expect(calls).toHaveLength(1);
    expect(outputs().map(waitingCallOf)).toEqual([undefined]);
    expect(messages.at(-1)!.parts.at(-1)).toMatchObject({ type: "text", text: "Done." });
  });

  test("says what is wrong with what is no list of messages", async () => {
    const agent = app.agent(["never"]);
    const uiMessages = "none" as unknown as unknown[];
    await expect(
      createDurableAgentUIStreamResponse({ agent, uiMessages, options }),
    ).rejects.toThrow(/validation failed/i);
  });
});
