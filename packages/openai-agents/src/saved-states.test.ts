/** What a state meets: other ways to run an agent, other releases, and tools that are gone. */
import {
  Agent,
  defineToolInputGuardrail,
  MemorySession,
  run as runAgent,
  RunState,
  tool,
  ToolGuardrailFunctionOutputFactory as verdict,
} from "@openai/agents";
import { functionCall, ScriptedModel } from "@openai/agents/testing";
import { describe, expect, test, vi } from "vitest";
import { bindAgentsTools } from "./index.ts";
import { order, results, says, startShop, sure, user } from "../test/shop-agent.ts";

const stream = async (agent: Agent<any, any>, input: any) =>
  await runAgent(agent, input, { stream: true });

test("a stream is interrupted, and goes on as a stream", async () => {
  const { step, answer, items, server } = await startShop([[order("tea")], says("Done.")]);
  server.ask("order", [sure]);
  const asked = await step(undefined, { run: stream });
  expect(asked.held).toMatchObject([{ callId: "call-tea", state: "waits" }]);
  await answer();
  const done = await step(asked.saved, { run: stream });
  expect(results(done.result!.history)).toEqual({ "call-tea": "Ordered tea." });
  expect(items()).toEqual(["order tea"]);
});

test("a conversation in a MemorySession has the call and its result once", async () => {
  const { step, answer, server } = await startShop([[order("tea")], says("Done."), says("Two.")]);
  server.ask("order", [sure]);
  const session = new MemorySession();
  const run = async (agent: Agent<any, any>, input: any) =>
    await runAgent(agent, input, { session });
  const asked = await step(undefined, { run });
  await answer();
  await step(asked.saved, { run });
  const types = (await session.getItems()).map(({ type }) => type);
  expect(types).toEqual(["message", "function_call", "function_call_result", "message"]);
  expect(results(await session.getItems())).toEqual({ "call-tea": "Ordered tea." });
});

/** An agent with one below it, in a tool. */
const aboveBuyer =
  (below: ScriptedModel) =>
  ({ tools }: { tools: any[] }, model: ScriptedModel) => {
    const buyer = new Agent({ name: "buyer", tools, model: below });
    const asTool = buyer.asTool({ toolName: "buyer", toolDescription: "Buys." });
    return new Agent({ name: "shop", model, tools: [...tools, asTool] });
  };

test("a call of an agent in a tool interrupts the agent above it, and lands in the one below", async () => {
  const below = new ScriptedModel([[order("tea")], says("Tea is ordered.")]);
  const { step, answer, items, server } = await startShop([
    [functionCall("buyer", { input: "tea" }, { callId: "call-buyer" })],
    says("Done."),
  ]);
  server.ask("order", [sure]);
  const agent = aboveBuyer(below);
  const asked = await step(undefined, { agent });
  expect(asked.held).toMatchObject([{ callId: "call-tea", state: "waits" }]);
  const early = await step(asked.saved, { agent });
  expect(early.goesOn).toBe(false);
  await answer();
  const done = await step(asked.saved, { agent });
  expect(done.text).toBe("Done.");
  expect(results(done.result!.history)).toEqual({ "call-buyer": "Tea is ordered." });
  expect(items()).toEqual(["order tea"]);
});

test("an agent to which the run was handed over goes on", async () => {
  const next = new ScriptedModel([[order("tea")], says("Done.")]);
  const { step, answer, items, server } = await startShop([
    [functionCall("transfer_to_buyer", {}, { callId: "call-over" })],
  ]);
  server.ask("order", [sure]);
  const agent = ({ tools }: { tools: any[] }, model: ScriptedModel) => {
    const buyer = new Agent({ name: "buyer", tools, model: next });
    return new Agent({ name: "shop", model, handoffs: [buyer] });
  };
  const asked = await step(undefined, { agent });
  expect(asked.held).toMatchObject([{ callId: "call-tea" }]);
  await answer();
  const done = await step(asked.saved, { agent });
  expect(done.text).toBe("Done.");
  expect(items()).toEqual(["order tea"]);
});

const old = (saved: string) => {
  const value = JSON.parse(saved);
  value.state = JSON.stringify({ ...JSON.parse(value.state), $schemaVersion: "9.9" });
  return JSON.stringify(value);
};

describe("a state of another release", () => {
  test("goes on as a new run, with the results that are there", async () => {
    const cancel = functionCall("shop__cancel", { item: "milk" }, { callId: "call-milk" });
    const { step, answer, items, server, model } = await startShop([
      [order("tea"), cancel],
      says("Done."),
    ]);
    server.ask("order", [sure]);
    const asked = await step();
    const early = await step(old(asked.saved));
    expect([early.goesOn, String(early.refused)]).toEqual([false, expect.stringContaining("9.9")]);
    await answer();
    const done = await step(old(asked.saved));
    expect(done.text).toBe("Done.");
    expect(results(done.result!.history)).toEqual({
      "call-tea": "Ordered tea.",
      "call-milk": "Cancelled milk.",
    });
    expect(items()).toEqual(["cancel milk", "order tea"]);
    const given = model.lastCall!.request.input as any[];
    expect(given.map(({ type, callId }) => callId ?? type)).toEqual([
      ...["message", "call-milk", "call-milk", "call-tea", "call-tea"],
    ]);
  });

  test("has what the calls of an agent below have come to", async () => {
    const below = new ScriptedModel([[order("tea")]]);
    const { step, answer, items, server } = await startShop([
      [functionCall("buyer", { input: "tea" }, { callId: "call-buyer" })],
      says("Done."),
    ]);
    server.ask("order", [sure]);
    const agent = aboveBuyer(below);
    const asked = await step(undefined, { agent });
    await answer();
    const done = await step(old(asked.saved), { agent });
    expect(results(done.result!.history)).toEqual({ "call-tea": "Ordered tea." });
    expect([done.text, items()]).toEqual(["Done.", ["order tea"]]);
  });
});

test("a tool that the next process has not is stood in for, until the run goes on", async () => {
  const cancel = functionCall("shop__cancel", { item: "milk" }, { callId: "call-milk" });
  const { step, answer, server, model } = await startShop([[order("tea"), cancel], says("Done.")]);
  server.ask("order", [sure]);
  const asked = await step();
  await answer();
  const done = await step(asked.saved, { definition: { toolNames: { prefix: "none" } } });
  expect(done.refused).toBeUndefined();
  expect(done.text).toBe("Done.");
  expect(results(done.result!.history)).toEqual({
    "call-tea": "Ordered tea.",
    "call-milk": "Cancelled milk.",
  });
  const names = model.lastCall!.request.tools.map((each) => (each as { name: string }).name);
  expect(names).toEqual(["noneorder", "nonecancel"]);
});

test("guardrails and approvals of the application come before a call", async () => {
  const { step, items } = await startShop([
    [order("gold"), order("tea"), order("milk")],
    says("Done."),
  ]);
  const agents: string[] = [];
  const guardrail = defineToolInputGuardrail({
    name: "no gold",
    run: async ({ toolCall, agent }) => {
      agents.push(agent.name);
      return toolCall.arguments.includes("gold")
        ? verdict.rejectContent("No gold.")
        : verdict.allow();
    },
  });
  const options = {
    inputGuardrails: [guardrail],
    approval: ({ input }: { input: any }) => input.item === "tea",
  };
  const asked = await step(undefined, options);
  expect(asked.held).toMatchObject([{ callId: "call-tea", state: "asks" }]);
  expect(items()).toEqual(["order milk"]);
  const done = await step(asked.saved, {
    ...options,
    before: ({ approve }) => approve("call-tea"),
  });
  expect(results(done.result!.history)).toEqual({
    ...{ "call-gold": "No gold.", "call-tea": "Ordered tea.", "call-milk": "Ordered milk." },
  });
  expect(items()).toEqual(["order milk", "order tea"]);
  expect(new Set(agents)).toEqual(new Set(["shop"]));
});

test("a call that was approved past the leaf is not made, and the error says how", async () => {
  const { step, items, sessions } = await startShop([[order("tea")]]);
  const asked = await step(undefined, { approval: () => true });
  const { state } = asked.result!;
  state.approve(state.getInterruptions()[0]!);
  const saved = JSON.stringify({ ...JSON.parse(asked.saved), state: state.toString() });
  const going = step(saved, { run: runAgent as never, before: async () => undefined });
  await expect(going).resolves.toMatchObject({ goesOn: false });
  await sessions().run("chat", { principal: user }, async (run) => {
    const { tools } = await bindAgentsTools(run, saved);
    const agent = new Agent({ name: "shop", tools, model: new ScriptedModel([]) });
    const own = await RunState.fromString(agent, state.toString());
    await expect(runAgent(agent, own)).rejects.toThrow("approve");
  });
  expect(items()).toEqual([]);
});

test("a tool of the application's own is approved in the loaded state", async () => {
  const paid = vi.fn<() => string>(() => "Paid.");
  const { step, sessions } = await startShop([[functionCall("pay", {}, { callId: "call-1" })]]);
  const parameters = { type: "object", properties: {}, required: [], additionalProperties: true };
  const options = {
    name: "pay",
    description: "Pays.",
    strict: false,
    needsApproval: true,
  } as const;
  const pay = tool({ ...options, parameters: parameters as never, execute: paid });
  const agent = ({ tools }: { tools: any[] }, model: ScriptedModel) =>
    new Agent({ name: "shop", model, tools: [...tools, pay] });
  const asked = await step(undefined, { agent });
  expect(asked.held).toEqual([]);
  await sessions().run("chat", { principal: user }, async (run) => {
    const bound = await bindAgentsTools(run, asked.saved);
    const own = agent(bound, new ScriptedModel([says("Done.")]));
    const { input, goesOn } = await bound.load(own);
    const state = input as RunState<any, any>;
    expect(goesOn).toBe(false);
    state.approve(state.getInterruptions()[0]!);
    expect((await runAgent(own, state)).finalOutput).toBe("Done.");
  });
  expect(paid).toHaveBeenCalledOnce();
});

test.each(["", "{}", '{"version":2}'])("refuses what is not of save: %j", async (saved) => {
  const { step } = await startShop([]);
  await expect(step(saved)).rejects.toMatchObject({ code: "CONNECTION_INVALID" });
});
