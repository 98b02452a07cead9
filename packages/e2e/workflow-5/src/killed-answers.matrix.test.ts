import { once } from "node:events";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type AskingServer, startAskingServer } from "../../src/servers/asking.ts";
import { buildApp } from "./run-app.ts";
import { killHard, outputsIn, startProgram, temporaryFolder } from "./start-program.ts";

const ANSWERS = JSON.stringify({
  confirm: { action: "accept", content: { ok: true } },
  delivery: { action: "accept", content: { time: "18:00" } },
});

let shop: AskingServer;
beforeAll(async () => {
  shop = await startAskingServer();
});
afterAll(() => shop?.stop());

/** When the first process dies: while the run sleeps, or before or after the answer's leg. */
type Death = "asleep" | "before answer" | "after answer";

/** A turn of an agent that orders an item. Its process dies, and the next one ends it. */
async function orderAndDie(app: object, item: string, isStored: boolean, death: Death) {
  const dataDir = temporaryFolder();
  const principal = { type: "user", issuer: "https://idp.test", id: "alice" };
  const prompt = JSON.stringify([[{ tool: "shop__place_order", input: { item } }]]);
  const options = { principal, prompt, connections: ["shop"], sessionId: item };
  const args = [JSON.stringify(app), dataDir, JSON.stringify(options)];
  const store = isStored && { STORE_PATH: join(dataDir, "sessions.db") };
  const env = { ASKING_URL: shop.url, ...store };

  const first = startProgram(args, death === "asleep" ? env : { ...env, ANSWERS, DIE_AT: death });
  const gone = once(first.child, "exit");
  const { runId } = await first.next();
  if (death === "asleep") {
    while ((await first.next())["asked"] === undefined);
    await killHard(first.child);
  }
  await gone;
  const { next } = startProgram([...args, String(runId)], { ...env, ANSWERS });
  for (;;) {
    const { result } = await next();
    const legs = shop.legs().filter(({ params }) => params.arguments?.["item"] === item);
    if (result !== undefined) return { output: JSON.stringify(outputsIn(result)[0]), legs };
  }
}

const done = "comes at 18:00";
const unknown = "OUTCOME_UNKNOWN: ";
const cases: [isStored: boolean, death: Death, output: string, legs: number][] = [
  [false, "asleep", done, 3],
  [false, "before answer", unknown, 1],
  [true, "after answer", done, 3],
];

test("kill -9 around a person's answers sends no leg twice, and leaves nothing waiting", async () => {
  const app = await buildApp("killed-answers");
  await Promise.all(
    cases.map(async ([isStored, death, output, count], index) => {
      const order = await orderAndDie(app, `item ${index}`, isStored, death);
      expect(order.output).toContain(output);
      const states = order.legs.map(({ params }) => params.requestState);
      expect(states).toHaveLength(count);
      // One leg for each answer.
      expect(new Set(states).size).toBe(count);
    }),
  );
  expect(new Set(shop.orders().map(({ item }) => item))).toEqual(new Set(["item 0", "item 2"]));
});
