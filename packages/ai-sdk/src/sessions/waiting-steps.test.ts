import { createMemoryStore } from "@durable-mcp/core";
import type { InputResponses } from "@durable-mcp/core/waiting";
import type { ModelMessage, UIMessage } from "ai";
import { beforeEach, describe, expect, test } from "vitest";
import { callsOf } from "../../test/calls-of.ts";
import { type AskingServer, startAskingServer, yes } from "../../test/asking-server.ts";
import { scriptedModel, toolResults, type Turn } from "@durable-mcp/testing/ai-sdk";
import { alice } from "../../test/step.ts";
import { majors } from "../../test/waiting-tool.ts";
import { defineMcpClientConnection } from "../connection/define-connection.ts";
import type { PausingInput } from "../connection/connection-options.ts";
import { stopWhenWaiting } from "../waiting/stop-when-waiting.ts";
import { createDurableSessions } from "./create-durable-sessions.ts";

type Ai = (typeof majors)[number]["ai"];

const use = { principal: alice };
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

/** The application of docs/guides/questions.md. Each step and each answer is a process of its own. */
function startApplication(ai: Ai, input: Partial<PausingInput> = {}) {
  const store = createMemoryStore();
  let later = 0;
  let callMs = 60_000;
  const sessions = () =>
    createDurableSessions({
      connections: {
        shop: defineMcpClientConnection({
          ...{ url: shop.url, description: "A shop." },
          input: { mode: "pause", ...input },
          timeouts: { callMs },
        }),
      },
      store,
      now: () => Date.now() + later,
      onEvent: () => undefined,
    });
  return {
    sessions,
    wait: (ms: number) => void (later += ms),
    limitCalls: (ms: number) => void (callMs = ms),
    async step(before: ModelMessage[], ...turns: Turn[]) {
      const model = scriptedModel(...turns);
      const after = await sessions().run("chat", use, async (run) => {
        const tools = await run.tools();
        const { messages, stillWaiting } = await run.waiting.resume(before, { tools });
        if (stillWaiting.length > 0) return messages;
        const stop = stopWhenWaiting({ stopWhen: ({ steps }) => steps.length === 10 });
        const result = await ai.generateText({ model, tools, messages, ...stop });
        return [...messages, ...(result.responseMessages ?? result.response.messages)];
      });
      return { messages: asJson(after), model };
    },
    waiting: () => sessions().waiting("chat", use),
    async answer(tool: string, responses: InputResponses = yes) {
      const call = callsOf(await sessions().waiting("chat", use)).find(
        (each) => each.tool === tool,
      )!;
      return await sessions().answer("chat", call.id, responses, { ...use, round: call.round });
    },
  };
}

describe.each(majors)("steps of an agent with AI SDK $major", ({ ai }) => {
  test("calls that wait at once are answered in any order, in as many rounds as they take", async () => {
    const app = startApplication(ai);
    const { messages } = await app.step([user], [order, twice]);
    expect(shop.legs).toHaveLength(2);
    expect(await app.answer("order_twice")).toMatchObject({ state: "waiting", round: 2 });
    expect(await app.answer("order")).toMatchObject({ state: "settled" });

    const between = await app.step(messages);
    expect(between.model.doGenerateCalls).toEqual([]);
    expect(JSON.stringify(between.messages)).toContain("order tea is done.");
    expect(await app.answer("order_twice")).toMatchObject({ state: "settled" });

    const last = await app.step(between.messages, "All done.");
    expect(toolResults(last.model)).toEqual(["order tea is done.", "order_twice milk is done."]);
    expect(last.messages.at(-1)).toMatchObject({ content: [{ text: "All done." }] });
    // Two first legs, and a leg for each answer.
    expect(shop.legs).toHaveLength(5);
  });

  test("a result finds its place, whatever a user has written meanwhile", async () => {
    const app = startApplication(ai);
    const { messages } = await app.step([user], [order]);
    const meanwhile: ModelMessage = { role: "user", content: "And how is the weather?" };
    const early = await app.step([...messages, meanwhile]);
    expect(early.model.doGenerateCalls).toEqual([]);
    await app.answer("order");
    const { model } = await app.step(early.messages, "Fine, and your tea comes.");
    expect(toolResults(model)).toEqual(["order tea is done."]);
    expect(model.doGenerateCalls[0]!.prompt.at(-1)).toMatchObject({ role: "user" });
  });

  test("a step that runs again sends nothing", async () => {
    const app = startApplication(ai);
    await app.step([user], [order]);
    const { messages } = await app.step([user], [order]);
    await app.answer("order");
    const { model } = await app.step(messages, "Done.");
    expect(toolResults(model)).toEqual(["order tea is done."]);
    expect(shop.legs).toHaveLength(2);
  });

  test("stored UI messages are resumed before they are converted", async () => {
    const app = startApplication(ai);
    await app.step([user], [order]);
    const [call] = callsOf(await app.waiting());
    const part = { type: "tool-shop__order", toolCallId: "call-0-0", input: { item: "tea" } };
    const output = { _meta: { "durable-mcp/waiting": call } };
    const chat = [
      { id: "1", role: "user", parts: [{ type: "text", text: "Order." }] },
      { id: "2", role: "assistant", parts: [{ ...part, state: "output-available", output }] },
    ] as UIMessage[];
    await app.answer("order");
    await app.sessions().run("chat", use, async (run) => {
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
  const { model } = await app.step(messages, "I see.");
  expect(shop.legs).toHaveLength(length);
  return toolResults(model).join();
}

describe("the model is told", () => {
  const { ai } = majors[1]!;
  test("of questions that nobody answered in time", async () => {
    const app = startApplication(ai, { maxAgeMs: 60_000 });
    const { messages } = await app.step([user], [order]);
    app.wait(60_001);
    expect(await app.waiting()).toEqual([]);
    expect(await failed(app, messages)).toMatch(/nobody answered .* in time.* not carried out/);
  });

  test("of a call that was taken back", async () => {
    const app = startApplication(ai);
    const { messages } = await app.step([user], [order]);
    const [call] = callsOf(await app.waiting());
    await app.sessions().withdraw("chat", call!.id, use);
    expect(await failed(app, messages)).toMatch(/has taken the call back.* not carried out/);
  });

  test("of an answer of which nobody knows what became", async () => {
    const app = startApplication(ai);
    const { messages } = await app.step([user], [order]);
    const [call] = callsOf(await app.waiting());
    const abort = new AbortController();
    onAnswer = async () => {
      abort.abort();
      await new Promise((resolve) => setTimeout(resolve, 100));
    };
    const answered = await app
      .sessions()
      .answer("chat", call!.id, yes, { ...use, abortSignal: abort.signal });
    expect(answered.state).toBe("outcome-unknown");
    expect(await failed(app, messages)).toMatch(/unknown; check before you make it again/);
  });

  test("of an answer for which the server takes too long", async () => {
    const app = startApplication(ai);
    const { messages } = await app.step([user], [order]);
    app.limitCalls(100);
    onAnswer = () => new Promise((resolve) => setTimeout(resolve, 1_000));
    expect((await app.answer("order")).state).toBe("outcome-unknown");
    expect(await failed(app, messages)).toMatch(/unknown; check before you make it again/);
  });

  test("of a placeholder whose arguments a browser has changed", async () => {
    const app = startApplication(ai);
    const { messages } = await app.step([user], [order]);
    await app.answer("order");
    const changed = JSON.parse(JSON.stringify(messages).replace("tea", "gold")) as ModelMessage[];
    const text = await failed(app, changed);
    expect(text).toContain("it is another call than this one");
    expect(text).not.toContain("is done");
  });
});
