/** One process that asks, answers or takes a result, and can be killed at each of its points. */
import { receiveTask, stopAtFetch, stopAtStore } from "../durable/killed-process.ts";
import { openStoreAt } from "../durable/store-place.ts";
import { type AnswerKillPoint, type KilledAnswerTask, workOf } from "./answer-kill-points.ts";
import { answer, createShop, order, resume } from "./waiting-shop.ts";

const { task, at } = await receiveTask<AnswerKillPoint, KilledAnswerTask>();
const { place, url, sessionId, point, id, round } = task;
const work = workOf(point);

const { store } = await openStoreAt(place);
const shop = createShop({
  url,
  store: stopAtStore(store, (when, operation, number) =>
    at(`${work}: ${when} ${operation} ${number}`),
  ),
  fetch: stopAtFetch(
    ({ body }) => body.includes('"method":"tools/call"'),
    (when) => at(`${work}: ${when === "sent" ? "leg sent" : "answer received"}`),
  ),
});
if (work === "ask") await order(shop, sessionId);
else if (work === "answer") await answer(shop, sessionId, { id, round });
else await resume(shop, sessionId, id);
