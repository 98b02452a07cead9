/** With `record: "first"`: a process dies in the step that makes a call, and a later step makes the call again. */

import { createMemoryStore } from "@durable-mcp/core";
import { scriptedModel, toolResults, type Turn } from "@durable-mcp/testing/ai-sdk";
import { generateText, type ModelMessage, stepCountIs } from "ai";
import { expect, onTestFinished, test } from "vitest";
import { startNotebookServer } from "../../../sessions/test/notebook-server.ts";
import { slowKinds, startSlowServer } from "../../../sessions/test/slow-server.ts";
import { alice } from "../step.ts";
import {
  createDurableSessions,
  defineMcpClientConnection,
  stopWhenWaiting,
} from "../../src/index.ts";

const use = { principal: alice };
const asked: ModelMessage = { role: "user", content: "What of tea?" };

/** Steps of processes of their own. Those that come later find that the first gives no sign of life. */
function startSteps(url: string, session: "stateful" | "stateless") {
  const store = createMemoryStore();
  return async (
    laterMs: number,
    before: readonly ModelMessage[],
    ...turns: Parameters<typeof scriptedModel>
  ) => {
    const lab = defineMcpClientConnection({
      ...{ url, description: "A lab.", session },
      waiting: { record: "first", afterMs: 5_000 },
    });
    const now = () => Date.now() + laterMs;
    const sessions = createDurableSessions({ connections: { lab }, store, now });
    const model = scriptedModel(...turns);
    const messages = await sessions.run("chat", use, async (run) => {
      const resumed = await run.waiting.resume(before, { tools: await run.tools() });
      if (!resumed.goesOn) return resumed.messages;
      const stop = stopWhenWaiting({ stopWhen: stepCountIs(5) });
      const { tools, messages: given } = resumed;
      const { responseMessages } = await generateText({ model, tools, messages: given, ...stop });
      return [...given, ...responseMessages];
    });
    return { messages, told: toolResults(model).join() };
  };
}

const minutes = (count: number) => count * 60_000;
const other: ModelMessage = { role: "user", content: "I ask again." };

test.each(slowKinds)("the same call joins the one of the dead process: a %s", async (kind) => {
  const slow = await startSlowServer(kind);
  onTestFinished(async () => await slow.close());
  const step = startSteps(slow.url, kind === "task of 2026-07-28" ? "stateless" : "stateful");
  const research: Turn = [{ tool: "lab__research", input: { topic: "tea" } }];
  const hung = step(0, [asked], research, "Never read.").catch(() => undefined);
  await slow.begun();
  // How it is found again is noted.
  await new Promise((resolve) => setTimeout(resolve, 300));

  const { messages } = await step(minutes(2), [asked, other], research, "I wait.");
  expect(slow.works).toHaveLength(1);
  slow.finish();
  const { told } = await step(minutes(4), messages, "Done.");
  expect(told).toContain("All about tea.");
  expect(slow.works).toHaveLength(1);
  await hung;
});

test("nobody knows of a call that its server does not keep: the model is told once, and may make it again", async () => {
  const server = await startNotebookServer();
  const step = startSteps(server.url, "stateful");
  const wait: Turn = [{ tool: "lab__wait" }];
  const hung = step(0, [asked], wait, "Never read.").catch(() => undefined);
  await expect.poll(() => server.waits).toEqual(["started"]);

  const { told } = await step(minutes(2), [asked, other], wait, "I look first.");
  expect(told).toContain("carried out is unknown; check before");
  expect(server.waits).toHaveLength(1);
  const again = step(minutes(3), [asked, other], wait, "Done.");
  await expect.poll(() => server.waits.length).toBe(2);
  server.release();
  await Promise.all([again, hung]);
});

/** A step whose process dies after its call has its result, and before the application has the messages. */
async function dieAfterResult(step: ReturnType<typeof startSteps>, call: Turn) {
  const dying = Promise.withResolvers<void>();
  const hang = async () => {
    dying.resolve();
    return await new Promise<never>(() => undefined);
  };
  void step(0, [asked], call, hang);
  await dying.promise;
}

const write = (text: string, toolCallId: string): Turn => [
  { tool: "lab__add_note", input: { text }, toolCallId },
];

test("a call that was carried out is not made again: the same call under another id has its result, once", async () => {
  const server = await startNotebookServer();
  const step = startSteps(server.url, "stateful");
  await dieAfterResult(step, write("tea", "first"));

  const again = await step(minutes(2), [asked, other], write("tea", "second"), "Done.");
  expect(again.told).toBe("1 notes");
  const later = await step(minutes(3), [...again.messages, other], write("tea", "third"), "Done.");
  expect(later.told).toContain("2 notes");
});

test("messages that have the result of a call show that it is not lost", async () => {
  const server = await startNotebookServer();
  const step = startSteps(server.url, "stateful");
  await dieAfterResult(step, write("tea", "first"));
  const made = { toolCallId: "first", toolName: "lab__add_note" } as const;
  const saved: ModelMessage[] = [
    { role: "assistant", content: [{ type: "tool-call", ...made, input: { text: "tea" } }] },
    {
      role: "tool",
      content: [{ type: "tool-result", ...made, output: { type: "text", value: "" } }],
    },
  ];
  const before = [asked, ...saved, other];
  const { told } = await step(minutes(2), before, write("tea", "second"), "Done.");
  expect(told).toContain("2 notes");
});

test("a step that ended leaves nothing to join, and one that failed does", async () => {
  const server = await startNotebookServer();
  const step = startSteps(server.url, "stateful");
  await step(0, [asked], write("tea", "first"), "Done.");
  const second = await step(minutes(2), [asked, other], write("tea", "second"), "Done.");
  expect(second.told).toBe("2 notes");

  const failing = step(minutes(3), [asked], write("milk", "third"));
  await expect(failing).rejects.toThrow("The model has only 1 turns.");
  const fourth = await step(minutes(5), [asked, other], write("milk", "fourth"), "Done.");
  expect(fourth.told).toBe("3 notes");
});

test("a call of a process that lives is another call", async () => {
  const server = await startNotebookServer();
  const step = startSteps(server.url, "stateful");
  const wait: Turn = [{ tool: "lab__wait" }];
  const first = step(0, [asked], wait, "Done.");
  await expect.poll(() => server.waits).toEqual(["started"]);
  const second = step(0, [asked, other], wait, "Done.");
  await expect.poll(() => server.waits.length).toBe(2);
  server.release();
  await Promise.all([first, second]);
});
