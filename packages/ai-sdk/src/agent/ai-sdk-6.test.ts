/** AI SDK 6 with the same connections: their tools come from `@ai-sdk/mcp` 2, the loop from `ai` 6. */
import { generateText, stepCountIs, streamText, type ToolSet } from "ai-6";
import { MockLanguageModelV3, simulateReadableStream } from "ai-6/test";
import { expect, test } from "vitest";
import { startStored } from "../../test/durable-process.ts";
import { alice, openAndList } from "../../test/step.ts";

const use = { principal: alice };
const usage = {
  inputTokens: { total: 0, noCache: 0, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 0, text: 0, reasoning: 0 },
};
const call = (text: string) => ({
  type: "tool-call" as const,
  toolCallId: "call-1",
  toolName: "notes__add_note",
  input: JSON.stringify({ text }),
});
const toolCalls = { unified: "tool-calls", raw: undefined } as const;
const stop = { unified: "stop", raw: undefined } as const;

/** Adds a note and then says that it is done. */
function addingModel(text: string) {
  return new MockLanguageModelV3({
    doGenerate: [
      { content: [call(text)], finishReason: toolCalls, usage, warnings: [] },
      { content: [{ type: "text", text: "done" }], finishReason: stop, usage, warnings: [] },
    ],
    doStream: [
      {
        stream: simulateReadableStream({
          chunks: [call(text), { type: "finish" as const, finishReason: toolCalls, usage }],
        }),
      },
      {
        stream: simulateReadableStream({
          chunks: [
            { type: "text-start" as const, id: "1" },
            { type: "text-delta" as const, id: "1", delta: "done" },
            { type: "text-end" as const, id: "1" },
            { type: "finish" as const, finishReason: stop, usage },
          ],
        }),
      },
    ],
  });
}

const settings = { prompt: "go", stopWhen: stepCountIs(3) };

test("runs of generateText share one session", async () => {
  const { server, sessions } = await startStored();
  const turn = (text: string) =>
    sessions.run("chat", use, async (run) =>
      generateText({
        model: addingModel(text),
        tools: (await run.tools()) as ToolSet,
        ...settings,
      }),
    );
  expect((await turn("milk")).text).toBe("done");
  const { steps } = await turn("bread");
  expect(JSON.stringify(steps[0]!.toolResults)).toContain("2 notes");
  expect(server.sessionIds).toHaveLength(1);
});

test("the tools of a run work, and tell the model of a lost session", async () => {
  const { server, sessions } = await startStored();
  await sessions.run("chat", use, (run) => run.tools());
  server.forgetSessions();
  const model = addingModel("milk");
  await sessions.run("chat", use, async (run) =>
    generateText({ model, tools: (await run.tools()) as ToolSet, ...settings }),
  );
  const told = JSON.stringify(model.doGenerateCalls[1]?.prompt);
  expect(told).toContain("the server had lost the session");
  expect(told).toContain("1 notes");
});

test("a stream that a run gives back has its tools until it has ended", async () => {
  const { sessions } = await startStored();
  const model = addingModel("milk");
  const response = await sessions.run("chat", use, async (run) =>
    streamText({
      model,
      tools: (await run.tools()) as ToolSet,
      ...settings,
    }).toUIMessageStreamResponse(),
  );
  expect(await response.text()).toContain("1 notes");
});

test("an attached stream holds its lease to the end", async () => {
  const { sessions } = await startStored();
  const lease = await openAndList(sessions, "chat", use);
  const result = lease.attach(
    streamText({
      model: addingModel("milk"),
      tools: (await lease.tools()) as ToolSet,
      ...settings,
    }),
  );
  await lease.dispose();
  expect(await result.toUIMessageStreamResponse().text()).toContain("1 notes");
  await lease.closed;
  await expect(lease.client("notes")).rejects.toMatchObject({
    code: "CONNECTION_UNAVAILABLE",
  });
});
