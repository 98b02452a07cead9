/** Each operation of the store fails once in a step: no call that waits is lost, and none is carried out twice. */

import { createMemoryStore, McpSessionError } from "@durable-mcp/core";
import { createFaultyStore } from "@durable-mcp/testing";
import { scriptedModel, toolResults, type Turn } from "@durable-mcp/testing/ai-sdk";
import { type ModelMessage, stepCountIs, ToolLoopAgent, type ToolSet, generateText } from "ai";
import { describe, expect, test } from "vitest";
import { startAskingServer, yes } from "../../../sessions/test/asking-server.ts";
import { addNote, startLockedNotebook } from "../sign-in-application.ts";
import { alice } from "../step.ts";
import {
  agentTool,
  createDurableSessions,
  defineMcpClientConnection,
  stopWhenWaiting,
} from "../../src/index.ts";

const use = { principal: alice };
const delegate = { tool: "delegate", input: { prompt: "Order." } };
const order = { tool: "shop__order", input: { item: "tea" } };
const user: ModelMessage = { role: "user", content: "Work." };

interface Fault {
  /** The operation that fails, from 0. */
  readonly at: number;
  readonly moment: "before" | "after";
}

/** The store, of which one operation fails. */
function failing(fault: Fault | undefined) {
  const memory = createMemoryStore();
  const faulty = createFaultyStore(memory);
  let count = 0;
  const arm = () =>
    faulty.meet("*", async (operate, { name }) => {
      const isHit = count++ === fault?.at;
      const failure = new McpSessionError("STORE_FAILED", `The store failed at ${name}.`);
      if (isHit && fault.moment === "before") throw failure;
      const result = await operate();
      if (isHit) throw failure;
      return result;
    });
  return { memory, ...faulty, arm, count: () => count };
}

type Failing = ReturnType<typeof failing>;

/** A conversation. In the step of this number the store is armed; one that fails is made again, as an application does. */
async function converse(
  store: Failing,
  armed: number,
  steps: readonly (() => Promise<unknown>)[],
): Promise<void> {
  for (const [at, step] of steps.entries()) {
    if (at === armed) store.arm();
    const error = await step().then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    store.heal();
    if (error !== undefined) {
      expect(error).toMatchObject({ code: "STORE_FAILED" });
      await step();
    }
  }
}

/** A sub-agent whose call asks a person. */
async function subAgent(fault: Fault | undefined, armed: number) {
  const store = failing(fault);
  const shop = await startAskingServer();
  const { url } = shop;
  const connections = {
    shop: defineMcpClientConnection({ url, description: "A.", waiting: true }),
  };
  const sessions = () => createDurableSessions({ connections, store: store.store });
  let messages: readonly ModelMessage[] = [user];
  let told: string[] = [];
  const step = (turns: Turn[], innerTurns: Turn[]) => async () => {
    const [model, inner] = [scriptedModel(...turns), scriptedModel(...innerTurns)];
    messages = await sessions().run("chat", use, async (run) => {
      const own = (await run.tools()) as ToolSet;
      const agent = new ToolLoopAgent({ model: inner, tools: own, ...stopWhenWaiting() });
      const tools = { ...own, delegate: agentTool({ description: "Orders.", agent }) as never };
      const resumed = await run.waiting.resume(messages, { tools });
      if (!resumed.goesOn) return resumed.messages;
      const stop = stopWhenWaiting({ stopWhen: stepCountIs(5) });
      const given = { model, tools: resumed.tools, messages: resumed.messages };
      const { responseMessages } = await generateText({ ...given, ...stop });
      return [...resumed.messages, ...responseMessages];
    });
    told = toolResults(model);
  };
  const answer = async () => {
    for (const call of await sessions().waiting("chat", use))
      if (call.type === "question" && call.state === "waiting")
        await sessions().answer("chat", call.id, yes, use);
  };
  await converse(store, armed, [
    step([[delegate], "x"], [[order], "y"]),
    answer,
    step(["Ordered."], ["Tea is ordered."]),
  ]);
  const effects = shop.legs.filter(({ params }) => params.inputResponses).length;
  const open = await sessions().waiting("chat", use);
  return { count: store.count(), told: told.join(), effects, open };
}

/** A call that waits for a sign-in. */
async function signIn(fault: Fault | undefined, armed: number) {
  const store = failing(fault);
  const app = await startLockedNotebook({ sessionsOptions: { store: store.store } });
  let messages: readonly ModelMessage[] = [user];
  let told: string[] = [];
  const step =
    (...turns: Turn[]) =>
    async () => {
      const after = await app.step(messages, turns);
      messages = after.messages;
      told = after.told;
    };
  await app.signIn();
  await step("Hello.")();
  app.signIns.revokeAll();
  messages = [user];
  await converse(store, armed, [
    step([addNote("milk")], "The user has to sign in."),
    async () => await app.signIn(),
    step("Done."),
  ]);
  const open = await app.waiting();
  const effects = app.log.filter((each) => each === "POST tools/call").length;
  return { count: store.count(), told: told.join(), effects, open };
}

describe.each([
  ["a call of a sub-agent that asks a person", subAgent, [0, 1, 2], "Tea is ordered."],
  ["a call that waits for a sign-in", signIn, [0, 2], "1 notes"],
] as const)(
  "%s",
  (_name, play, armed, result) => {
    test.for(armed)("is not lost, whichever operation fails in step %i", async (at) => {
      const { count } = await play(undefined, at);
      expect(count).toBeGreaterThan(0);
      const lost: string[] = [];
      for (let operation = 0; operation < count; operation += 1) {
        for (const moment of ["before", "after"] as const) {
          const { told, open, effects } = await play({ at: operation, moment }, at);
          const isWhole = told.includes(result) && open.length === 0;
          if (!isWhole) lost.push(`${moment} ${operation}: ${told}, ${open.length}, ${effects}`);
        }
      }
      expect(lost).toEqual([]);
    });
  },
  120_000,
);
