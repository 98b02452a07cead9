/**
 * One process that asks, answers or takes a result. It says that it is at the point it was told and goes no
 * further, so that it can be killed there.
 */
import type { SessionStore } from "@durable-mcp/core";
import { openStoreAt } from "../durable/store-place.ts";
import { type AnswerKillPoint, workOf } from "./answer-kill-points.ts";
import type { KilledAnswerReport, KilledAnswerTask } from "./killed-answer-protocol.ts";
import { answer, createShop, order, resume } from "./waiting-shop.ts";

const report = (type: KilledAnswerReport["type"]) => void process.send!({ type });

const { promise: told, resolve } = Promise.withResolvers<KilledAnswerTask>();
process.once("message", resolve);
report("ready");
const { place, url, sessionId, point, id, round } = await told;
const work = workOf(point);

/** For ever, once the process is there. */
async function at(here: string): Promise<void> {
  if (`${work}: ${here}` !== (point satisfies AnswerKillPoint)) return;
  report("reached");
  // Something has to keep a process that only waits.
  setInterval(() => {}, 60_000);
  await new Promise(() => {});
}

const { store } = await openStoreAt(place);
let puts = 0;
const stopping: SessionStore = {
  ...store,
  async put(...args) {
    puts += 1;
    const own = puts;
    await at(`before put ${own}`);
    const saving = store.put(...args);
    // It is on its way, and perhaps there.
    await at(`during put ${own}`);
    const result = await saving;
    await at(`after put ${own}`);
    return result;
  },
};

const fetchStopping: typeof fetch = async (input, init) => {
  const sending = fetch(input, init);
  const body = typeof init?.body === "string" ? init.body : "";
  if (!body.includes('"method":"tools/call"')) return await sending;
  // The server has it, and perhaps an answer is on its way.
  await Promise.race([sending, new Promise((done) => setTimeout(done, 10))]);
  await at("leg sent");
  const response = await sending;
  await at("answer received");
  return response;
};

const shop = createShop({ url, store: stopping, fetch: fetchStopping });
if (work === "ask") await order(shop, sessionId);
else if (work === "answer") await answer(shop, sessionId, { id, round });
else await resume(shop, sessionId, id);
