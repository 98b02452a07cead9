import { once } from "node:events";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type AskingServer, startAskingServer } from "../../../e2e/src/servers/asking.ts";
import { killHard, temporaryFolder } from "../../test/json-program.ts";
import { startApp } from "../../test/killed-run.ts";
import { alice } from "../../test/test-app.ts";

const ANSWERS = JSON.stringify({
  confirm: { action: "accept", content: { ok: true } },
  delivery: { action: "accept", content: { time: "18:00" } },
});

let shop: AskingServer;
beforeAll(async () => {
  shop = await startAskingServer();
});
afterAll(() => shop?.stop());

/** When a process dies: while the run sleeps, or before or after a step. */
type Death = "asleep" | "before told" | "after told" | "after place_order" | "after find";

/** A run that orders an item. Its processes die one after the other; the last one ends it. */
async function orderAndDie(item: string, isStored: boolean, deaths: readonly Death[]) {
  const dataDir = temporaryFolder();
  const call = { tool: "shop__place_order", input: { item }, toolCallId: item };
  const settings = { connections: ["shop"], principal: alice, sessionId: item, turns: [[call]] };
  const args = [JSON.stringify({ ...settings, isStored, isFragile: true })];
  const legs = () => shop.legs().filter(({ params }) => params.arguments?.["item"] === item);
  const store = isStored && { STORE_PATH: join(dataDir, "sessions.db") };
  const start = (own: Record<string, string>) =>
    startApp(dataDir, args, { ASKING_URL: shop.url, ...store, ...own });

  for (const death of deaths) {
    const { child, next } = start({
      ...(death !== "asleep" && { ANSWERS, DIE_AT: death }),
    });
    const { runId } = await next();
    args[1] = String(runId);
    if (death === "asleep") {
      while ((await next())["asked"] === undefined);
      await killHard(child);
    } else if (child.exitCode === null && child.signalCode === null) {
      await once(child, "exit");
    }
  }
  const { next } = start({ ANSWERS });
  for (;;) {
    const { result } = await next();
    if (result !== undefined) return { outcome: result.results[0][0], legs: legs() };
  }
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
