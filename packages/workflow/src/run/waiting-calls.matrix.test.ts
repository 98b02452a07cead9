import { expect, test } from "vitest";
import { yes } from "../../../sessions/test/asking-server.ts";
import { eventLogText } from "../../test/event-log.ts";
import { alice, bob, startShop, textOf, useTestApp } from "../../test/test-app.ts";
import { order, useShop } from "../../test/waiting-runs.ts";

const app = useTestApp();
const beginOrders = useShop(app);
const owner = { principal: alice };
const twice = { tool: "shop__order_twice", input: { item: "tea" } };
const no = { confirm: { action: "decline" } } as const;
const whereTo = {
  method: "elicitation/create",
  params: {
    message: "Where to?",
    requestedSchema: { type: "object", properties: { to: { type: "string" } } },
  },
};

for (const isStored of [false, true]) {
  test(`a run sleeps until a person has answered, round by round, stored: ${isStored}`, async () => {
    const asked: string[] = [];
    const shop = await startShop(
      { onWaiting: ({ id }) => void asked.push(id) },
      { question: () => whereTo },
    );
    const { run, runId, steps, questions } = await beginOrders([[twice]], isStored);
    const answer = { confirm: { action: "accept", content: { to: "aunt-Ada" } } } as const;
    for (const round of [1, 2]) {
      const [call] = await questions(1, round);
      expect(call).toMatchObject({ tool: "order_twice", state: "waiting", id: asked[0] });
      const answered = await steps.answer(runId, call!.id, answer, { ...owner, round });
      expect(answered.state).toBe("answering");
    }
    const { results } = await run.returnValue;
    expect(textOf(results[0]![0])).toBe("order_twice tea is done.");
    expect(shop.legs.map(({ params }) => params.inputResponses)).toEqual([
      undefined,
      answer,
      answer,
    ]);
    expect(await steps.waiting(runId, owner)).toEqual([]);
    expect(asked).toHaveLength(2);
    // The state of the server is as secret as a session id, and the answer is sealed where there are keys.
    const log = eventLogText(app.world.dataDir);
    expect(log).toContain("Where to?");
    for (const state of shop.states) expect(log).not.toContain(state);
    expect(log.includes("aunt-Ada")).toBe(isStored);
  });
}

test("the person is told of an answer that does not fit; somebody else is told of nothing", async () => {
  const shop = await startShop();
  const { run, runId, steps, questions } = await beginOrders([[order("tea")]]);
  const [call] = await questions();
  const { id } = call!;
  const wrong = { confirm: { action: "accept", content: { ok: "yes" } } } as const;
  await expect(steps.answer(runId, id, wrong, owner)).rejects.toMatchObject({
    code: "INPUT_INVALID",
    data: { field: "confirm.content.ok" },
  });
  const other = { principal: bob };
  expect(await steps.waiting(runId, other)).toEqual([]);
  for (const act of [
    () => steps.answer(runId, id, yes, other),
    () => steps.withdraw(runId, id, other),
    () => steps.answer(runId, id, yes, { ...owner, round: 2 }),
    () => steps.answer("wrun_other", id, yes, owner),
  ]) {
    await expect(act()).rejects.toMatchObject({ code: "NOT_WAITING" });
  }
  expect(shop.legs).toHaveLength(1);
  // A second answer is not heard any more.
  await Promise.all([steps.answer(runId, id, no, owner), steps.answer(runId, id, no, owner)]);
  await run.returnValue;
  expect(shop.legs.map(({ params }) => params.inputResponses)).toEqual([undefined, no]);
  await expect(steps.answer(runId, id, yes, owner)).rejects.toMatchObject({ code: "NOT_WAITING" });
});
