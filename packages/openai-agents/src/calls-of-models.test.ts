/** What models write: ids that come again, names with dashes, arguments that are none. */
import { Agent } from "@openai/agents";
import { functionCall, ScriptedModel } from "@openai/agents/testing";
import { describe, expect, test } from "vitest";
import type { AgentsTools } from "./index.ts";
import { order, results, says, startShop, sure } from "../test/shop-agent.ts";

const read = (model: ScriptedModel) => results(model.lastCall!.request.input as never);

const approveTea = async ({ approve }: AgentsTools) => await approve("call-tea");

async function startDashed(end: string) {
  // The prefix has the dash.
  const definition = { toolNames: { prefix: "my-" } } as const;
  const call = functionCall("my_order", { item: "tea" }, { callId: "1" });
  const shop = await startShop([[call], says(end)], definition);
  shop.server.ask("order", [sure]);
  const asked = await shop.step();
  await shop.answer();
  return { ...shop, asked };
}

/** Puts an agent into a tool of another one. */
const asTool = (agent: Agent<any, any>) =>
  agent.asTool({ toolName: agent.name, toolDescription: "Buys." });
const use = (name: string) => functionCall(name, { input: "1" }, { callId: name });

const buys = (item: string) => new ScriptedModel([[order(item, "call_0")], says("Bought.")]);

/** Agents in tools, of which one is a tool's of a tool. The models of both give their call the same id. */
async function startBuyers(...items: readonly [string, string]) {
  const [near, far] = [buys(items[0]), buys(items[1])];
  const between = new ScriptedModel([[use("far")], says("Bought.")]);
  const agent = ({ tools }: { tools: any[] }, model: ScriptedModel) => {
    const make = (name: string, own: ScriptedModel, all = tools) =>
      asTool(new Agent({ name, model: own, tools: all }));
    const below = [make("near", near), make("between", between, [make("far", far)])];
    return new Agent({ name: "shop", model, tools: [...tools, ...below] });
  };
  const shop = await startShop([[use("near"), use("between")], says("Done.")]);
  shop.server.ask("order", [sure]);
  const asked = await shop.step(undefined, { agent });
  const goOn = async () => {
    const { text } = await shop.step(asked.saved, { agent });
    return [text, read(near), read(far)];
  };
  return { ...shop, asked, goOn };
}

test("agents in tools whose models give their calls the same id make each of them", async () => {
  const { asked, goOn, answer, items } = await startBuyers("tea", "milk");
  expect(asked.held.map(({ input }) => input)).toEqual([{ item: "tea" }, { item: "milk" }]);
  await answer();
  await answer();
  const bought = ["tea", "milk"].map((item) => ({ call_0: `Ordered ${item}.` }));
  expect(await goOn()).toEqual(["Done.", ...bought]);
  expect(items().toSorted()).toEqual(["order milk", "order tea"]);
});

test("their equal calls wait as one, and each of them has its result", async () => {
  const { asked, goOn, answer, items, waiting } = await startBuyers("tea", "tea");
  expect(asked.held).toHaveLength(1);
  await answer();
  expect(await goOn()).toEqual(["Done.", { call_0: "Ordered tea." }, { call_0: "Ordered tea." }]);
  expect([items(), await waiting()]).toEqual([["order tea"], []]);
});

test("a call that is approved, and waits then, waits in the next step too", async () => {
  const options = { approval: () => true };
  const { step, answer, items, server } = await startShop([[order("tea")], says("Done.")]);
  server.ask("order", [sure]);
  const asked = await step(undefined, options);
  const approved = await step(asked.saved, { ...options, before: approveTea });
  const later = await step(approved.saved, options);
  expect(later.held).toMatchObject([{ callId: "call-tea", state: "waits" }]);
  expect(later.goesOn).toBe(false);
  await answer();
  const done = await step(later.saved, options);
  expect(done.text).toBe("Done.");
  expect(items()).toEqual(["order tea"]);
});

describe("a tool whose name OpenAI Agents changes", () => {
  test("is stood in for where it is gone", async () => {
    const { step, asked } = await startDashed("Done.");
    const done = await step(asked.saved, { definition: { toolNames: { prefix: "other" } } });
    expect(done.refused).toBeUndefined();
    expect(results(done.result!.history)).toEqual({ "1": "Ordered tea." });
  });

  test("has that name in a new run, too", async () => {
    const { step, asked, model } = await startDashed("Done.");
    const value = JSON.parse(asked.saved);
    await step(JSON.stringify({ ...value, state: "{}" }));
    const names = (model.lastCall!.request.input as any[]).flatMap(({ name }) => name ?? []);
    expect(names).toEqual(["my_order", "my_order"]);
  });
});

test.each(["", "{bad", "null", "[1]", '"tea"'])(
  "arguments that are no object: %j",
  async (text) => {
    const call = { ...order("tea"), arguments: text };
    const { step, items, model } = await startShop([[call], says("Sorry.")]);
    const first = await step();
    // OpenAI Agents asks for an approval of its own, and nothing is there to approve.
    expect(first.held).toEqual([]);
    const done = await step(first.saved);
    expect([done.goesOn, done.text]).toEqual([true, "Sorry."]);
    expect(results(done.result!.history)["call-tea"]).toMatch(/JSON/);
    expect([items(), model.remainingSteps]).toEqual([[], 0]);
  },
);

test("a saved name that every object has is no tool", async () => {
  const { step } = await startShop([[order("tea")], says("Done.")]);
  const asked = await step(undefined, { approval: () => true });
  const value = JSON.parse(asked.saved);
  const [call] = value.calls;
  const names = [...value.names, "constructor"];
  const saved = JSON.stringify({ ...value, names, calls: [{ ...call, toolName: "constructor" }] });
  const loaded = await step(saved, { before: approveTea });
  expect(loaded.held).toEqual([]);
});
