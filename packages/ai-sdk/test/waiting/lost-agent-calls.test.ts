/** With `record: "first"`: a process dies while a sub-agent's call is made, and a later step's sub-agent makes it again. */

import { createMemoryStore } from "@durable-mcp/core";
import { scriptedModel, type Turn } from "@durable-mcp/testing/ai-sdk";
import type { ModelMessage, ToolSet } from "ai";
import { describe, expect, onTestFinished, test } from "vitest";
import { startNotebookServer } from "../../../sessions/test/notebook-server.ts";
import { resultsOf } from "../slow-lab.ts";
import { slowKinds, startSlowServer } from "../../../sessions/test/slow-server.ts";
import { alice } from "../step.ts";
import { majors } from "../waiting-tool.ts";
import {
  agentTool,
  type ConnectionMode,
  createDurableSessions,
  currentConnections,
  defineMcpClientConnection,
  stopWhenWaiting,
} from "../../src/index.ts";

type Turns = Parameters<typeof scriptedModel>;
interface Models {
  readonly root: Turns;
  readonly inner?: Turns;
  readonly afterMs?: number;
}

interface StepsOptions {
  readonly mode?: ConnectionMode;
  readonly session?: "stateful" | "stateless";
  /** Which of the versions of AI SDK. */
  readonly at?: number;
}

/** Steps of processes of their own. Those that come later find that the first gives no sign of life. */
function startSteps(
  url: string,
  { mode = "inherit", session = "stateful", at = 1 }: StepsOptions = {},
) {
  const store = createMemoryStore();
  const { ai } = majors[at]!;
  return async (laterMs: number, before: readonly ModelMessage[], models: Models) => {
    const lab = defineMcpClientConnection({
      ...{ url, description: "A lab.", session },
      waiting: { record: "first", afterMs: models.afterMs ?? 5_000 },
    });
    const now = () => Date.now() + laterMs;
    const sessions = createDurableSessions({ connections: { lab }, store, now });
    const inner = scriptedModel(...(models.inner ?? []));
    return await sessions.run("chat", { principal: alice }, async (run) => {
      const delegating = (id: string) =>
        agentTool({
          description: "Delegates.",
          connections: { lab: mode },
          agent: async () => {
            const tools = (await currentConnections().tools()) as ToolSet;
            return new ai.ToolLoopAgent({ id, model: inner, tools, ...stopWhenWaiting() });
          },
        }) as never;
      const own = { delegate: delegating("delegate"), other: delegating("other") };
      const all = { ...((await run.tools()) as ToolSet), ...own };
      const resumed = await run.waiting.resume(before, { tools: all });
      const { tools, messages, goesOn } = resumed;
      if (!goesOn) return messages;
      const stop = stopWhenWaiting({ stopWhen: ({ steps }) => steps.length === 5 });
      const model = scriptedModel(...models.root);
      const result = await ai.generateText({ model, tools, messages: [...messages], ...stop });
      return [...messages, ...(result.responseMessages ?? result.response.messages)];
    });
  };
}
type Step = ReturnType<typeof startSteps>;

/** A step whose process dies when its sub-agent's model has read what became of its calls. */
async function die(step: Step, laterMs: number, before: readonly ModelMessage[], models: Models) {
  const dying = Promise.withResolvers<void>();
  const hang = async () => {
    dying.resolve();
    return await new Promise<never>(() => undefined);
  };
  void step(laterMs, before, { ...models, inner: [...(models.inner ?? []), hang] });
  await dying.promise;
}

const minutes = (count: number) => count * 60_000;
const asked: ModelMessage = { role: "user", content: "What of tea?" };
const other: ModelMessage = { role: "user", content: "I ask again." };
const delegate = (toolCallId: string, tool = "delegate"): Turn => [
  { tool, input: { prompt: "Work." }, toolCallId },
];
const write = (toolCallId: string): Turn => [
  { tool: "lab__add_note", input: { text: "tea" }, toolCallId },
];
const research = (topic: string, toolCallId: string): Turn => [
  { tool: "lab__research", input: { topic }, toolCallId },
];
const says = (text: string) => [write(text), text];

const modes: readonly (readonly [name: string, mode: ConnectionMode])[] = [
  ["inherit", "inherit"],
  ["isolate", "isolate"],
  ["named", { named: "aside" }],
  ["shared", { shared: "common" }],
];
/** Whether the later step's model gives the tool call around it another id. */
const ids = ["root", "root-again"];

describe.each([0, 1])("AI SDK, major %s", (at) => {
  test.each(modes.flatMap(([name, mode]) => ids.map((id) => [name, id, mode] as const)))(
    "a sub-agent's call in %s that was carried out is not made again, in %s: it has its result, once",
    async (_, id, mode) => {
      const server = await startNotebookServer();
      const step = startSteps(server.url, { mode, at });
      await die(step, 0, [asked], { root: [delegate("root")], inner: [write("first")] });
      expect(callsTo(server)).toBe(1);

      const root = [delegate(id), "Done."];
      const again = await step(minutes(2), [asked, other], { root, inner: says("second") });
      expect(resultsOf(again)).toContain("second");
      expect(callsTo(server)).toBe(1);
      const later = [...again, other];
      const third = [delegate("third"), "Done."];
      await step(minutes(4), later, { root: third, inner: says("third") });
      expect(callsTo(server)).toBe(2);
    },
  );
});

/** How often the server was asked to add a note. */
const callsTo = ({ requests }: Awaited<ReturnType<typeof startNotebookServer>>) =>
  requests.filter(({ message }) => message?.method === "tools/call").length;

test("it is not joined by another agent's call, nor by the root agent's", async () => {
  const server = await startNotebookServer();
  const step = startSteps(server.url);
  await die(step, 0, [asked], { root: [delegate("root")], inner: [write("first")] });
  const root = [delegate("root-again", "other"), write("own"), "Done."];
  await step(minutes(2), [asked, other], { root, inner: says("second") });
  expect(callsTo(server)).toBe(3);
});

/** As a page has them that has saved what it was shown, before the process died. */
const saved = (toolCallId: string): ModelMessage[] => {
  const made = { toolCallId, toolName: "delegate" } as const;
  const output = { type: "text", value: "It is a plant." } as const;
  return [
    {
      role: "assistant",
      content: [{ type: "tool-call", ...made, input: { prompt: "Work." } }],
    },
    { role: "tool", content: [{ type: "tool-result", ...made, output }] },
  ];
};

test("it is not joined where messages have the result of its tool call", async () => {
  const server = await startNotebookServer();
  const step = startSteps(server.url);
  await die(step, 0, [asked], { root: [delegate("root")], inner: [write("first")] });
  const before = [asked, ...saved("root"), other];
  const root = [delegate("root-again"), "Done."];
  await step(minutes(2), before, { root, inner: says("second") });
  expect(callsTo(server)).toBe(2);
});

test.each(slowKinds)("the same call of a sub-agent joins the dead process's %s", async (kind) => {
  const slow = await startSlowServer(kind);
  onTestFinished(async () => await slow.close());
  const session = kind === "task of 2026-07-28" ? "stateless" : "stateful";
  const step = startSteps(slow.url, { session });
  const models = { root: [delegate("root")], inner: [research("tea", "first")] };
  const hung = step(0, [asked], models).catch(() => undefined);
  await slow.begun();
  // How it is found again is noted.
  await new Promise((resolve) => setTimeout(resolve, 300));

  const again = {
    root: [delegate("root-again"), "I wait."],
    inner: [research("tea", "second"), "never"],
  };
  const waits = await step(minutes(2), [asked, other], again);
  expect(resultsOf(waits)).toContain("not done yet");
  slow.finish();
  const done = await step(minutes(4), waits, { root: ["Done."], inner: ["It is a plant."] });
  expect(resultsOf(done)).toContain("It is a plant.");
  expect(slow.works).toHaveLength(1);
  await hung;
});

test("an agent that goes on after a wait, and whose process dies then, joins what it makes again", async () => {
  const slow = await startSlowServer("task of 2026-07-28");
  onTestFinished(async () => await slow.close());
  const step = startSteps(slow.url, { session: "stateless" });
  const inner = [research("tea", "first")];
  const waits = await step(0, [asked], { root: [delegate("root"), "I wait."], inner, afterMs: 0 });
  slow.finish();
  const hung = step(minutes(2), waits, { root: ["Done."], inner: [research("milk", "second")] });
  await expect.poll(() => slow.works).toHaveLength(2);
  // How it is found again is noted.
  await new Promise((resolve) => setTimeout(resolve, 300));

  const again = { root: ["Done."], inner: [research("milk", "third"), "never"] };
  const still = await step(minutes(4), waits, again);
  slow.finish();
  const last = await step(minutes(6), still, { root: ["Done."], inner: ["Both are white."] });
  expect(resultsOf(last)).toContain("Both are white.");
  expect(slow.works).toHaveLength(2);
  await hung.catch(() => undefined);
});
