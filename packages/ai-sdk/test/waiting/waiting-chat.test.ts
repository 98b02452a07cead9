import type { ChatState, UIMessage, UIMessageChunk } from "ai";
import { describe, expect, test } from "vitest";
import { majors, shopTools } from "../waiting-tool.ts";
import { scriptedModel, type Turn } from "@durable-mcp/testing/ai-sdk";
import { fillIn, type FilledIn } from "../../src/messages/placeholders.ts";
import { findPlaceholders } from "../../src/messages/placeholders.ts";
import { resumedChunks } from "../../src/messages/ui-chunks.ts";
import { tellSilentStep } from "../../src/messages/ui-chunks.ts";
import { waitingCallOf } from "@durable-mcp/core/internal";
import { stopWhenWaiting } from "../../src/messages/stop-when-waiting.ts";

type Ai = (typeof majors)[number]["ai"];

const order = [{ tool: "shop__order", input: { item: "tea" } }];
const ordered: FilledIn = {
  modelOutput: { type: "json", value: { ordered: 1 } },
  ui: { state: "output-available", output: { ordered: 1 } },
};
const failed: FilledIn = {
  modelOutput: { type: "error-text", value: "The shop is closed." },
  ui: { state: "output-error", errorText: "The shop is closed." },
};
const afterTenSteps = ({ steps }: { steps: readonly unknown[] }) => steps.length === 10;

const never = (_chat: { messages: UIMessage[] }) => false;

/** A chat in a browser, which sends by itself, and its server, which knows some results. */
function startChat(
  ai: Ai,
  turns: Turn[],
  { stops = true, tells = true, own = {}, tool = {}, waits = never } = {},
) {
  const results = new Map<string, FilledIn>();
  const requests: UIMessage[][] = [];
  const { tools, calls } = shopTools(tool);
  const model = scriptedModel(...turns);
  const settings = stops ? stopWhenWaiting({ stopWhen: afterTenSteps }) : {};

  /** Answers a request as an application would: results first, and then the agent. */
  const answer = async (originalMessages: UIMessage[]) => {
    const filled = fillIn(originalMessages, ({ id }) => results.get(id));
    const messages = await ai.convertToModelMessages(filled, { tools });
    return ai.createUIMessageStream({
      originalMessages,
      execute: ({ writer }) => {
        for (const chunk of resumedChunks(originalMessages, filled)) writer.write(chunk);
        const agent = ai.streamText({ model, tools, messages, ...own, ...settings });
        const stream = agent.toUIMessageStream({ originalMessages });
        writer.merge(tells ? stream.pipeThrough(tellSilentStep(filled)) : stream);
      },
    });
  };

  const state: ChatState<UIMessage> = {
    status: "ready",
    error: undefined,
    messages: [],
    pushMessage: (message) => (state.messages = [...state.messages, message]),
    popMessage: () => (state.messages = state.messages.slice(0, -1)),
    // React's state keeps a copy: what the stream does to the message later is not in it.
    replaceMessage: (index, message) =>
      (state.messages = state.messages.with(index, structuredClone(message))),
    snapshot: (value) => structuredClone(value),
  };
  const sendMessages = async ({ messages }: { messages: UIMessage[] }) => {
    if (requests.length === 5) throw new Error("The chat does not stop sending.");
    const sent = JSON.parse(JSON.stringify(messages)) as UIMessage[];
    requests.push(sent);
    return (await answer(sent)) as ReadableStream<UIMessageChunk>;
  };
  class Chat extends ai.AbstractChat<UIMessage> {}
  const chat = new Chat({
    state,
    transport: { sendMessages, reconnectToStream: async () => null },
    sendAutomaticallyWhen: (options) =>
      !waits(options) &&
      (ai.lastAssistantMessageIsCompleteWithToolCalls(options) ||
        ai.lastAssistantMessageIsCompleteWithApprovalResponses(options)),
  });
  const send = async (text?: string) => {
    await chat.sendMessage(text === undefined ? undefined : { text });
    if (chat.error) throw chat.error;
  };
  const orderParts = () =>
    chat.messages.flatMap(({ parts }) => parts.filter(({ type }) => type === "tool-shop__order"));
  return { chat, send, requests, results, model, calls, orderParts };
}

const thatWaits = ({ messages }: { messages: UIMessage[] }) =>
  messages.at(-1)!.parts.some((part) => "output" in part && waitingCallOf(part.output));
const only = stopWhenWaiting({ stopWhen: ({ steps }) => steps.length === 1 });

describe.each(majors)("a chat with AI SDK $major", ({ ai, major }) => {
  test("sends nothing by itself while a call waits", async () => {
    const { chat, send, requests, model } = startChat(ai, [order, "Never said."]);
    await send("Order tea.");
    expect(requests).toHaveLength(1);
    expect(model.doStreamCalls).toHaveLength(1);
    expect(findPlaceholders(chat.messages)).toMatchObject([{ id: "wait-1" }]);
    expect(chat.lastMessage!.parts.at(-1)).toEqual({ type: "step-start" });
  });

  test("sends once more if the application's own condition ended the loop at that step", async () => {
    const how = { stops: false, own: only };
    const { chat, send, requests, model } = startChat(ai, [order, "Never said."], how);
    await send("Order tea.");
    expect(requests).toHaveLength(2);
    expect(model.doStreamCalls).toHaveLength(1);
    expect(findPlaceholders(chat.messages)).toMatchObject([{ id: "wait-1" }]);
  });

  test.each([
    ["without a silent step", { own: only, stops: false, tells: false }],
    ["with a silent step that it was not told of", { tells: false }],
  ])("would send by itself %s, unless it looks for calls that wait", async (_name, how) => {
    const sends = startChat(ai, [order, "Never said."], how);
    await expect(sends.send("Order tea.")).rejects.toThrow("The chat does not stop sending.");
    const looks = startChat(ai, [order, "Never said."], { ...how, waits: thatWaits });
    await looks.send("Order tea.");
    expect(looks.requests).toHaveLength(1);
  });

  test.each([
    ["a result", ordered],
    ["a failure", failed],
  ])("gets %s into its copy, and then the agent's words", async (_name, result) => {
    const { chat, send, requests, results, model, orderParts } = startChat(ai, [order, "Thanks."]);
    await send("Order tea.");
    results.set("wait-1", result);
    await send();
    expect(requests).toHaveLength(2);
    expect(chat.messages.map(({ role }) => role)).toEqual(["user", "assistant"]);
    expect(orderParts()).toMatchObject([result.ui]);
    expect(findPlaceholders(chat.messages)).toEqual([]);
    expect(chat.lastMessage!.parts.at(-1)).toMatchObject({ type: "text", text: "Thanks." });
    const [, , results2] = model.doStreamCalls[1]!.prompt;
    expect(results2).toMatchObject({ role: "tool", content: [{ output: result.modelOutput }] });
  });

  test("gets nothing of a call that still waits, and the agent says nothing", async () => {
    const { chat, send, results, model, orderParts } = startChat(ai, [
      [...order, { tool: "shop__order", input: { item: "milk" } }],
      "Never said.",
    ]);
    await send("Order tea and milk.");
    results.set("wait-2", ordered);
    await send();
    expect(orderParts()[1]).toMatchObject(ordered.ui);
    expect(findPlaceholders(chat.messages)).toMatchObject([{ id: "wait-1" }]);
    expect(model.doStreamCalls).toHaveLength(1);
  });

  test("keeps an older place, whose result is filled in for the agent alone", async () => {
    const turns = [order, "Milk is 2 euros.", "You are welcome."];
    const { chat, send, results, model, requests } = startChat(ai, turns);
    await send("Order tea.");
    results.set("wait-1", ordered);
    await send("And what is milk?");
    await send("Thank you.");
    expect(requests).toHaveLength(3);
    expect(findPlaceholders(chat.messages)).toMatchObject([{ id: "wait-1" }]);
    expect(JSON.stringify(model.doStreamCalls.at(-1)!.prompt)).toContain('{"ordered":1}');
    expect(chat.lastMessage!.parts.at(-1)).toMatchObject({ text: "You are welcome." });
  });

  test("asks for the application's own approval first, and then waits", async () => {
    const tool = major === 6 ? { needsApproval: true } : {};
    const own = major === 6 ? {} : { toolApproval: { shop__order: "user-approval" as const } };
    const started = startChat(ai, [order, "Thanks."], { tool, own });
    const { chat, send, requests, results, model, calls, orderParts } = started;
    await send("Order tea.");
    expect(calls).toHaveLength(0);
    const { approval } = orderParts()[0] as { approval: { id: string } };
    await chat.addToolApprovalResponse({ id: approval.id, approved: true });
    await expect.poll(() => [chat.status, requests.length]).toEqual(["ready", 2]);
    expect(findPlaceholders(chat.messages)).toMatchObject([{ id: "wait-1" }]);
    expect(model.doStreamCalls).toHaveLength(1);

    results.set("wait-1", ordered);
    await send();
    expect(calls).toHaveLength(1);
    expect(requests).toHaveLength(3);
    expect(orderParts()).toMatchObject([{ ...ordered.ui, approval: { approved: true } }]);
    expect(chat.lastMessage!.parts.at(-1)).toMatchObject({ text: "Thanks." });
  });
});
