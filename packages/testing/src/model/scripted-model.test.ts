import { setTimeout as sleep } from "node:timers/promises";
import * as ai7 from "ai";
import * as ai6 from "ai-6";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { scriptedModel, toolResults } from "./scripted-model.ts";

describe.each([
  ["6", ai6 as unknown as typeof ai7],
  ["7", ai7],
])("a scripted model in AI SDK %s", (_, { generateText, stepCountIs, streamText, tool, ...ai }) => {
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

  test("thinks as long as a turn's function does, and speaks as slowly as a stream is made", async () => {
    const begun = Date.now();
    const model = scriptedModel(async () => {
      await sleep(50);
      return "Your tea is ordered.";
    });
    const experimental_transform = ai.smoothStream({ delayInMs: 50 });
    const times: number[] = [];
    const { textStream } = streamText({ model, prompt: "Order tea.", experimental_transform });
    for await (const word of textStream) if (word) times.push(Date.now() - begun);
    expect(times[0]).toBeGreaterThanOrEqual(49);
    // Whoever reads late may see words at once, but none too early.
    expect(times.at(-1)).toBeGreaterThanOrEqual(190);
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

  test("says what one function makes of each prompt, for as long as it is asked", async () => {
    const model = scriptedModel(({ said, results }) =>
      results.length > 0
        ? `${said} ${results.join(" ")}`
        : [{ tool: "order", input: { item: said } }],
    );
    const messages: ai7.ModelMessage[] = [];
    const ids = new Set<string>();
    for (const content of ["Tea", "Jam"]) {
      messages.push({ role: "user", content });
      const { text, response, steps } = await generateText({
        ...{ model, messages, tools: { order }, stopWhen: stepCountIs(3) },
      });
      expect(text).toBe(`${content} Ordered ${content}.`);
      messages.push(...response.messages);
      ids.add(steps[0]!.toolCalls[0]!.toolCallId);
    }
    expect(ids.size).toBe(2);
  });

  test("gives a turn's function the prompt, and has no turn after its last", async () => {
    const model = scriptedModel("Yes?", ({ said }) => `You said ${said}`);
    const say = async (prompt: string) =>
      (await generateText({ model, prompt, maxRetries: 0 })).text;
    expect(await say("Hi")).toBe("Yes?");
    expect(await say("Tea")).toBe("You said Tea");
    await expect(say("More")).rejects.toThrow("The model has only 2 turns.");
  });
});
