import * as ai7 from "ai";
import * as ai6 from "ai-6";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { scriptedModel, toolResults } from "./scripted-model.ts";

describe.each([
  ["6", ai6 as unknown as typeof ai7],
  ["7", ai7],
])("a scripted model in AI SDK %s", (_, { generateText, stepCountIs, streamText, tool }) => {
  const order = tool({
    inputSchema: z.object({ item: z.string() }),
    execute: ({ item }) => `Ordered ${item}.`,
  });
  const use = () => ({
    model: scriptedModel([{ tool: "order", input: { item: "tea" } }], "Your tea is ordered."),
    tools: { order },
    stopWhen: stepCountIs(3),
    prompt: "Order tea.",
  });

  test("calls tools, and says its text", async () => {
    const { model, ...others } = use();
    const { text } = await generateText({ model, ...others });
    expect(text).toBe("Your tea is ordered.");
    expect(model.doGenerateCalls).toHaveLength(2);
    expect(toolResults(model)).toEqual(["text: Ordered tea."]);
  });

  test("streams a word at a time", async () => {
    const words: string[] = [];
    for await (const word of streamText(use()).textStream) words.push(word);
    expect(words).toEqual(["Your ", "tea ", "is ", "ordered."]);
  });

  test("has no turn after its last", async () => {
    const { model, ...others } = use();
    await generateText({ model, ...others });
    await expect(generateText({ model, prompt: "More.", maxRetries: 0 })).rejects.toThrow(
      "The model has only 2 turns.",
    );
  });

  test("calls a tool under the id that a turn gives", async () => {
    const model = scriptedModel([{ tool: "order", input: { item: "tea" }, toolCallId: "mine" }]);
    const { toolCalls } = await generateText({ ...use(), model, stopWhen: stepCountIs(1) });
    expect(toolCalls).toMatchObject([{ toolCallId: "mine" }]);
  });
});
