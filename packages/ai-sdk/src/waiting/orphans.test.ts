/** With `record: "first"`: a process dies in the step that makes a call, and a later step makes the call again. */

import { createMemoryStore } from "@durable-mcp/core";
import { scriptedModel, toolResults, type Turn } from "@durable-mcp/testing/ai-sdk";
import { generateText, type ModelMessage, stepCountIs } from "ai";
import { expect, onTestFinished, test } from "vitest";
import { startNotebookServer } from "../../test/notebook-server.ts";
import { slowKinds, startSlowServer } from "../../test/slow-server.ts";
import { alice } from "../../test/step.ts";
import { createDurableSessions, defineMcpClientConnection, stopWhenWaiting } from "../index.ts";

const use = { principal: alice };
const asked: ModelMessage = { role: "user", content: "What of tea?" };

/** Steps of processes of their own. Those that come later find that the first gives no sign of life. */
function startSteps(url: string, session: "stateful" | "stateless") {
  const store = createMemoryStore();
  return async (laterMs: number, before: readonly ModelMessage[], ...turns: Turn[]) => {
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
