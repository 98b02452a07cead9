import { Agent, RunContext } from "@openai/agents";
import { functionCall, ScriptedModel } from "@openai/agents/testing";
import { expect, test } from "vitest";
import { order, results, says, startShop, sure } from "../test/shop-agent.ts";

test("an agent calls tools in one session over several steps", async () => {
  const { step, items, server } = await startShop(
    [[order("tea")], says("Done."), [order("milk")], says("Done again.")],
    { session: "stateful", waiting: undefined },
  );
  const first = await step();
  expect(first.text).toBe("Done.");
  const second = await step();
  expect(second.text).toBe("Done again.");
  expect(items()).toEqual(["order tea", "order milk"]);
  const handshakes = server.requests.filter(({ rpcMethod }) => rpcMethod === "initialize");
  expect(handshakes).toHaveLength(1);
});

test("a question stops the agent, and its result lands under its own call in another process", async () => {
  const { step, answer, items, server } = await startShop([[order("tea")], says("Done.")]);
  server.ask("order", [sure]);
  const asked = await step();
  expect(asked.text).toBeUndefined();
  expect(asked.result?.interruptions).toHaveLength(1);
  expect(asked.held).toMatchObject([
    { toolName: "shop__order", callId: "call-tea", state: "waits" },
  ]);
  expect(items()).toEqual([]);
  const early = await step(asked.saved);
  expect(early.goesOn).toBe(false);
  await answer();
  const done = await step(asked.saved);
  expect(done.text).toBe("Done.");
  expect(results(done.result!.history)).toEqual({ "call-tea": "Ordered tea." });
  expect(items()).toEqual(["order tea"]);
});

test("of two calls one is finished, and the other waits: neither is sent again", async () => {
  const cancel = functionCall("shop__cancel", { item: "milk" }, { callId: "call-milk" });
  const { step, answer, items, server } = await startShop([[order("tea"), cancel], says("Done.")]);
  server.ask("order", [sure]);
  const asked = await step();
  expect(items()).toEqual(["cancel milk"]);
  expect(asked.held).toMatchObject([{ callId: "call-tea" }]);
  await answer();
  const done = await step(asked.saved);
  const both = { "call-tea": "Ordered tea.", "call-milk": "Cancelled milk." };
  expect(results(done.result!.history)).toEqual(both);
  // The state of the step before, once more: that step died before it had saved.
  const again = await step(asked.saved, {
    agent: ({ tools }) =>
      new Agent({ name: "shop", tools, model: new ScriptedModel([says("Yes.")]) }),
  });
  expect([again.text, results(again.result!.history)]).toEqual(["Yes.", both]);
  expect(items()).toEqual(["cancel milk", "order tea"]);
});

test("two calls wait, and one of them goes on first", async () => {
  const { step, answer, items, server } = await startShop([
    [order("tea"), order("milk")],
    says("Done."),
  ]);
  server.ask("order", [sure]);
  const asked = await step();
  expect(asked.held).toHaveLength(2);
  await answer();
  // Whichever the server has asked about first.
  const left = items()[0] === "order tea" ? "call-milk" : "call-tea";
  const half = await step(asked.saved);
  expect(half.text).toBeUndefined();
  expect(half.held).toMatchObject([{ callId: left }]);
  await answer();
  const done = await step(half.saved);
  expect(results(done.result!.history)).toEqual({
    "call-tea": "Ordered tea.",
    "call-milk": "Ordered milk.",
  });
  expect(items().toSorted()).toEqual(["order milk", "order tea"]);
});

test("an application's approval: the call is made when a person has approved it, and may ask then", async () => {
  const { step, answer, items, server } = await startShop(
    [[order("tea"), order("milk")], says("Done.")],
    { approval: ({ toolName }) => toolName === "shop__order" },
  );
  const asked = await step();
  expect(asked.held.map(({ state }) => state)).toEqual(["asks", "asks"]);
  server.ask("order", [sure]);
  const half = await step(asked.saved, {
    async before({ approve, withdraw }) {
      await approve("call-tea");
      await withdraw("call-milk", "No milk today.");
    },
  });
  expect(half.held).toMatchObject([{ callId: "call-tea", state: "waits" }]);
  expect(items()).toEqual([]);
  await expect(
    step(half.saved, { before: ({ approve }) => approve("call-tea") }),
  ).rejects.toMatchObject({ code: "NOT_WAITING" });
  await answer();
  const done = await step(half.saved);
  expect(results(done.result!.history)).toEqual({
    "call-tea": "Ordered tea.",
    "call-milk": "No milk today.",
  });
  expect(items()).toEqual(["order tea"]);
});

const approval = (_: unknown, { context }: RunContext<any>) => context.asks();

test("the application's context, which no text can hold, is that of each process", async () => {
  const cancel = functionCall("shop__cancel", { item: "tea" }, { callId: "call-2" });
  const { step, answer, server } = await startShop([[order("tea")], [cancel], says("Done.")]);
  server.ask("order", [sure]);
  const context = new RunContext({ asks: () => false });
  const asked = await step(undefined, { approval, context });
  await answer();
  const done = await step(asked.saved, { approval, context: new RunContext(context.context) });
  expect(results(done.result!.history)).toEqual({
    "call-tea": "Ordered tea.",
    "call-2": "Cancelled tea.",
  });
});

test("a call that is taken back says why", async () => {
  const { step, items, server, waiting } = await startShop([[order("tea")], says("Done.")]);
  server.ask("order", [sure]);
  const asked = await step();
  const done = await step(asked.saved, { before: ({ withdraw }) => withdraw("call-tea") });
  expect(results(done.result!.history)).toEqual({
    "call-tea": expect.stringContaining("taken the call back"),
  });
  expect([items(), await waiting()]).toEqual([[], []]);
});
