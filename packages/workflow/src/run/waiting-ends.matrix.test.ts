import { expect, test } from "vitest";
import { resumeHook } from "workflow/api";
import { yes } from "../../../sessions/test/asking-server.ts";
import { callsOf } from "../../../sessions/test/calls-of.ts";
import { sealed } from "../../test/app/connections.ts";
import { alice, startShop, textOf, useTestApp } from "../../test/test-app.ts";
import { order, useShop } from "../../test/waiting-runs.ts";

const app = useTestApp();
const beginOrders = useShop(app);
const owner = { principal: alice };

test("several calls of a turn wait at once, and each has its answer", async () => {
  const shop = await startShop();
  const { run, runId, steps, questions } = await beginOrders([[order("tea"), order("milk")]]);
  const asked = await questions(2);
  expect(new Set(asked.map(({ toolCallId }) => toolCallId))).toEqual(
    new Set(["of milk", "of tea"]),
  );
  await Promise.all(asked.map(({ id }) => steps.answer(runId, id, yes, owner)));
  const { results } = await run.returnValue;
  expect(results[0]!.map(textOf)).toEqual(["order tea is done.", "order milk is done."]);
  expect(shop.legs).toHaveLength(4);
});

const failed = (why: string) => ({
  code: "NOT_WAITING",
  message: expect.stringContaining(why) as unknown,
});

test("a DurableAgent sleeps, and sees the final result alone", async () => {
  await startShop();
  const prompt = JSON.stringify([[order("tea")]]);
  const run = await app.begin("agentTurn", { principal: alice, prompt, connections: ["shop"] });
  const asked = () => sealed.waiting(run.runId, owner);
  await expect.poll(asked).toHaveLength(1);
  const [call] = callsOf(await asked());
  await sealed.answer(run.runId, call!.id, yes, owner);
  const { messages } = await run.returnValue;
  const [{ content }] = messages.filter(({ role }: { role: string }) => role === "tool");
  expect(content.map(({ output }: any) => textOf(output))).toEqual(["order tea is done."]);
});

test("a call that is taken back fails, and the others wait on", async () => {
  const shop = await startShop();
  const { run, runId, steps, questions } = await beginOrders([[order("tea"), order("milk")]]);
  const asked = await questions(2);
  const [tea, milk] = ["of tea", "of milk"].map((id) =>
    asked.find(({ toolCallId }) => toolCallId === id),
  );
  await steps.withdraw(runId, tea!.id, owner);
  await steps.answer(runId, milk!.id, yes, owner);
  const [first, second] = (await run.returnValue).results[0]!;
  expect(first).toEqual(failed("has taken the call back"));
  expect(textOf(second)).toBe("order milk is done.");
  expect(shop.legs).toHaveLength(3);
});

test("a call that nobody answers in time fails", async () => {
  const shop = await startShop({ maxAgeMs: 200 });
  const { run } = await beginOrders([[order("tea")]]);
  expect((await run.returnValue).results[0]).toEqual([failed("in time")]);
  expect(shop.legs).toHaveLength(1);
});

test("what the steps have not made is no answer", async () => {
  const shop = await startShop();
  const { run, runId, steps, questions } = await beginOrders([[order("tea")]]);
  const [call] = await questions();
  const { id } = call!;
  const page = await app.world.world.hooks.list({ runId });
  const said = { id, round: 1, kind: "answer", responses: yes };
  await resumeHook(page.data[0]!.token, { plain: JSON.stringify(said), sealed: "forged" });
  await expect.poll(() => app.world.world.hooks.list({ runId })).not.toEqual(page);
  await questions();
  expect(shop.legs).toHaveLength(1);
  await steps.answer(runId, id, yes, owner);
  expect(textOf((await run.returnValue).results[0]![0])).toBe("order tea is done.");
});

test("an answer that certainly did not arrive is sent again by the run", async () => {
  let failures = 0;
  const getToken = () => {
    if (failures === 0) return { token: "token" };
    failures -= 1;
    throw new Error("The vault is locked.");
  };
  const shop = await startShop({}, {}, { auth: { getToken } });
  const { run, runId, steps, questions } = await beginOrders([[order("tea")]]);
  const [call] = await questions();
  failures = 1;
  await steps.answer(runId, call!.id, yes, owner);
  expect(textOf((await run.returnValue).results[0]![0])).toBe("order tea is done.");
  expect(failures).toBe(0);
  expect(shop.legs).toHaveLength(2);
});

test("questions that expired are asked again, and the old answer is not used", async () => {
  const maxAgeMs = 2_000;
  const shop = await startShop({ maxAgeMs, onExpired: "ask-again" });
  const { run, runId, steps, questions } = await beginOrders([[order("tea")]]);
  const [call] = await questions();
  await new Promise((resolve) => setTimeout(resolve, call!.expiresAt! + 10 - Date.now()));
  await steps.answer(runId, call!.id, yes, owner);
  const [again] = await questions(1, 2);
  expect(again!.id).toBe(call!.id);
  await steps.answer(runId, again!.id, yes, owner);
  expect(textOf((await run.returnValue).results[0]![0])).toBe("order tea is done.");
  const answers = shop.legs.map(({ params }) => params.inputResponses);
  expect(answers).toEqual([undefined, undefined, yes]);
});
