import { afterAll, beforeAll, expect, test } from "vitest";
import { type AskingServer, startAskingServer } from "../../../e2e/src/servers/asking.ts";
import { type Death, runThroughDeaths } from "../../test/killed-run.ts";

const ANSWERS = JSON.stringify({
  confirm: { action: "accept", content: { ok: true } },
  delivery: { action: "accept", content: { time: "18:00" } },
});

let shop: AskingServer;
beforeAll(async () => {
  shop = await startAskingServer();
});
afterAll(() => shop?.stop());

/** A run that orders an item. */
async function orderAndDie(item: string, isStored: boolean, deaths: readonly Death[]) {
  const call = { tool: "shop__place_order", input: { item }, toolCallId: item };
  const run = { connections: ["shop"], sessionId: item, turns: [[call]], isStored };
  const given = { env: { ASKING_URL: shop.url }, answers: ANSWERS };
  const outcome = await runThroughDeaths(run, deaths, given);
  const legs = shop.legs().filter(({ params }) => params.arguments?.["item"] === item);
  return { outcome, legs };
}

const done = "comes at 18:00";
const unknown = "OUTCOME_UNKNOWN: ";
const cases: [isStored: boolean, deaths: Death[], outcome: string, legs: number][] = [
  [false, ["asleep"], done, 3],
  [false, ["after told"], unknown, 2],
  [true, ["after place_order", "after find", "before told", "after told"], done, 3],
];

test("kill -9 around a person's answers sends no leg twice, and leaves nothing waiting", async () => {
  await Promise.all(
    cases.map(async ([isStored, deaths, outcome, count], index) => {
      const order = await orderAndDie(`item ${index}`, isStored, deaths);
      expect(JSON.stringify(order.outcome)).toContain(outcome);
      const states = order.legs.map(({ params }) => params.requestState);
      expect(states).toHaveLength(count);
      // One leg for each answer.
      expect(new Set(states).size).toBe(count);
    }),
  );
  expect(new Set(shop.orders().map(({ item }) => item))).toEqual(new Set(["item 0", "item 2"]));
});
