/** Calls that wait for a person, wherever they are kept. Each step and each answer is a process of its own. */
import type { InputResponses } from "@durable-mcp/core/waiting";
import type { ModelMessage, UIMessage } from "ai";
import { beforeEach, describe, expect, test } from "vitest";
import { type Backend, backends, startAgent } from "../agent-session.ts";
import { callsOf } from "../../../sessions/test/calls-of.ts";
import { type AskingServer, startAskingServer, yes } from "../../../sessions/test/asking-server.ts";
import { scriptedModel, toolResults, type Turn } from "@durable-mcp/testing/ai-sdk";
import { alice, bob } from "../step.ts";
import { majors } from "../waiting-tool.ts";
import type { WaitingLimits } from "@durable-mcp/core/waiting";
import {
  createConnectionProvider,
  defineMcpClientConnection,
  type McpClientConnectionOptions,
} from "../../src/index.ts";
import { stopWhenWaiting } from "../../src/messages/stop-when-waiting.ts";

type Ai = (typeof majors)[number]["ai"];

const asJson = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;
const user: ModelMessage = { role: "user", content: "Order." };
const order = { tool: "shop__order", input: { item: "tea" } };
const twice = { tool: "shop__order_twice", input: { item: "milk" } };

let shop: AskingServer;
/** What happens while the server has an answer. */
let onAnswer: (() => Promise<void>) | undefined;
beforeEach(async () => {
  onAnswer = undefined;
  shop = await startAskingServer({
    async answer({ params: { inputResponses } }) {
      if (inputResponses && onAnswer) await onAnswer();
      return undefined;
    },
  });
});

const define = (options: Partial<McpClientConnectionOptions> = {}) =>
  defineMcpClientConnection({
    ...{ url: shop.url, description: "A shop.", waiting: true },
    ...options,
  });

/** The application of docs/guides/questions.md. */
function startApplication(backend: Backend, { ai }: { ai: Ai }, input?: Partial<WaitingLimits>) {
  const pausing = { waiting: { ...input } } as const;
  const agent = startAgent(backend, { shop: define(pausing), bank: define() });
  return {
    ...agent,
    converse: async (before: ModelMessage[], ...turns: Turn[]) => {
      const model = scriptedModel(...turns);
      const after = await agent.step(async (run) => {
        const tools = await run.tools();
        const { messages, stillWaiting } = await run.waiting.resume(before, { tools });
        if (stillWaiting.length > 0) return messages;
        const stop = stopWhenWaiting({ stopWhen: ({ steps }) => steps.length === 10 });
        const result = await ai.generateText({ model, tools, messages, ...stop });
        return [...messages, ...(result.responseMessages ?? result.response.messages)];
      });
      return { messages: asJson(after), model };
    },
    /** Answers a call of this tool, in a process that may have other options. */
    reply: async (
      tool = "order",
      responses: InputResponses = yes,
      options?: Partial<McpClientConnectionOptions>,
    ) => {
      const { id, round } = callsOf(await agent.waiting()).find((call) => call.tool === tool)!;
      const process = options === undefined ? agent : agent.as({ shop: define(options) });
      return await process.answer(id, responses, { round });
    },
  };
}

const places = majors.flatMap((major) => backends.map((backend) => ({ ...major, backend })));

describe.each(places)("steps with AI SDK $major, in $backend", ({ ai, backend }) => {
  test("calls that wait at once are answered in any order, in as many rounds as they take", async () => {
    const app = startApplication(backend, { ai });
    const { messages } = await app.converse([user], [order, twice]);
    expect(shop.legs).toHaveLength(2);
    expect(await app.reply("order_twice")).toMatchObject({ state: "waiting", round: 2 });
    expect(await app.reply("order")).toMatchObject({ state: "settled" });

    const between = await app.converse(messages);
    expect(between.model.doGenerateCalls).toEqual([]);
    expect(JSON.stringify(between.messages)).toContain("order tea is done.");
    expect(await app.reply("order_twice")).toMatchObject({ state: "settled" });

    const last = await app.converse(between.messages, "All done.");
    expect(toolResults(last.model)).toEqual(["order tea is done.", "order_twice milk is done."]);
    expect(last.messages.at(-1)).toMatchObject({ content: [{ text: "All done." }] });
    // Two first legs, and a leg for each answer.
    expect(shop.legs).toHaveLength(5);
  });

  test("a result finds its place, whatever a user has written meanwhile", async () => {
    const app = startApplication(backend, { ai });
    const { messages } = await app.converse([user], [order]);
    const meanwhile: ModelMessage = { role: "user", content: "And how is the weather?" };
    const early = await app.converse([...messages, meanwhile]);
    expect(early.model.doGenerateCalls).toEqual([]);
    await app.reply("order");
    const { model } = await app.converse(early.messages, "Fine, and your tea comes.");
    expect(toolResults(model)).toEqual(["order tea is done."]);
    expect(model.doGenerateCalls[0]!.prompt.at(-1)).toMatchObject({ role: "user" });
  });

  test("a step that runs again sends nothing", async () => {
    const app = startApplication(backend, { ai });
    await app.converse([user], [order]);
    const { messages } = await app.converse([user], [order]);
    await app.reply("order");
    const { model } = await app.converse(messages, "Done.");
    expect(toolResults(model)).toEqual(["order tea is done."]);
    expect(shop.legs).toHaveLength(2);
  });

  test("stored UI messages are resumed before they are converted", async () => {
    const app = startApplication(backend, { ai });
    await app.converse([user], [order]);
    const [call] = callsOf(await app.waiting());
    const part = { type: "tool-shop__order", toolCallId: "call-0-0", input: { item: "tea" } };
    const output = { _meta: { "durable-mcp/waiting": call } };
    const chat = [
      { id: "1", role: "user", parts: [{ type: "text", text: "Order." }] },
      { id: "2", role: "assistant", parts: [{ ...part, state: "output-available", output }] },
    ] as UIMessage[];
    await app.reply("order");
    await app.step(async (run) => {
      const tools = await run.tools();
      const resumed = await run.waiting.resume(chat, { tools });
      const messages = await ai.convertToModelMessages(resumed.messages, { tools });
      expect(resumed.resumed).toMatchObject([{ state: "settled" }]);
      expect(JSON.stringify(messages)).toContain("order tea is done.");
    });
  });
});

/** What the model gets in the place of a result. No leg more is sent for it. */
async function failed(app: ReturnType<typeof startApplication>, messages: ModelMessage[]) {
  const { length } = shop.legs;
  const { model } = await app.converse(messages, "I see.");
  expect(shop.legs).toHaveLength(length);
  return toolResults(model).join();
}

describe.each(backends)("in %s, the model is told", (backend) => {
  test("of questions that nobody answered in time", async () => {
    const app = startApplication(backend, majors[1]!, { maxAgeMs: 60_000 });
    const { messages } = await app.converse([user], [order]);
    app.pass(60_001);
    expect(await app.waiting()).toEqual([]);
    expect(await failed(app, messages)).toMatch(/nobody answered .* in time.* not carried out/);
  });

  test("of a call that was taken back", async () => {
    const app = startApplication(backend, majors[1]!);
    const { messages } = await app.converse([user], [order]);
    const [call] = callsOf(await app.waiting());
    await app.withdraw(call!.id);
    expect(await failed(app, messages)).toMatch(/has taken the call back.* not carried out/);
  });

  test("of an answer of which nobody knows what became", async () => {
    const app = startApplication(backend, majors[1]!);
    const { messages } = await app.converse([user], [order]);
    const [call] = callsOf(await app.waiting());
    const abort = new AbortController();
    onAnswer = async () => {
      abort.abort();
      await new Promise((resolve) => setTimeout(resolve, 100));
    };
    const answered = await app.answer(call!.id, yes, { abortSignal: abort.signal });
    expect(answered.state).toBe("outcome-unknown");
    expect(await failed(app, messages)).toMatch(/unknown; check before you make it again/);
  });

  test("of an answer for which the server takes too long", async () => {
    const app = startApplication(backend, majors[1]!);
    const { messages } = await app.converse([user], [order]);
    onAnswer = () => new Promise((resolve) => setTimeout(resolve, 1_000));
    expect((await app.reply("order", yes, { timeouts: { callMs: 100 } })).state).toBe(
      "outcome-unknown",
    );
    expect(await failed(app, messages)).toMatch(/unknown; check before you make it again/);
  });

  test("of a placeholder whose arguments a browser has changed", async () => {
    const app = startApplication(backend, majors[1]!);
    const { messages } = await app.converse([user], [order]);
    await app.reply();
    const changed = JSON.parse(JSON.stringify(messages).replace("tea", "gold")) as ModelMessage[];
    const text = await failed(app, changed);
    expect(text).toContain("it is another call than this one");
    expect(text).not.toContain("is done");
  });
});

const parked = async (backend: Backend) => {
  const app = startApplication(backend, majors[1]!);
  await app.converse([user], [order]);
  const [call] = callsOf(await app.waiting());
  return { ...app, call: call!, id: call!.id };
};

describe.each(backends)("a call that waits in %s", (backend) => {
  test("is answered once by two processes at once", async () => {
    const { answer, id } = await parked(backend);
    const both = await Promise.allSettled([answer(id, yes), answer(id, yes)]);
    expect(both.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
    expect(both).toContainEqual({
      status: "rejected",
      reason: expect.objectContaining({ code: "NOT_WAITING" }),
    });
    expect(shop.legs).toHaveLength(2);
  });

  test("waits on after a leg that was not carried out", async () => {
    const { reply, waiting } = await parked(backend);
    const busy = reply("order", yes, { fetch: async () => new Response(null, { status: 429 }) });
    await expect(busy).rejects.toMatchObject({ code: "CONNECTION_UNAVAILABLE" });
    expect(await waiting()).toMatchObject([{ state: "waiting" }]);
    expect(await reply()).toMatchObject({ state: "settled" });
    expect(await waiting()).toEqual([]);
  });

  test("is another principal's secret, and another agent session's", async () => {
    const { waiting, answer, withdraw, end, id } = await parked(backend);
    for (const others of [{ principal: bob }, { chat: "other" }]) {
      expect(await waiting(others)).toEqual([]);
      const unknown = { code: "NOT_WAITING" };
      await expect(answer(id, yes, others)).rejects.toMatchObject(unknown);
      await expect(withdraw(id, others)).rejects.toMatchObject(unknown);
      await end(others);
    }
    expect(await waiting()).toHaveLength(1);
  });

  test("goes with its agent session or its connection, and with nothing else", async () => {
    const { converse, contents, waiting, restart, end, call } = await parked(backend);
    await restart();
    await end({ name: "shop" });
    await end({ connection: "bank" });
    expect(await waiting()).toEqual([call]);
    await end({ connection: "shop" });
    expect(await waiting()).toEqual([]);
    await converse([user], [order]);
    await end();
    expect(await contents()).not.toContain("order");
  });
});

test("a call that waits is refused without a store and a claim, which says why", () => {
  const connections = { shop: define() };
  const refused =
    /connections\.shop\.waiting needs a place .* two processes could send the same answer/;
  expect(() => createConnectionProvider({ connections })).toThrow(refused);
  // Whose connections they are is only known with a principal.
  const provider = createConnectionProvider({ connections: () => connections });
  expect(() => provider.create({ state: {}, principal: alice })).toThrow(refused);
});
