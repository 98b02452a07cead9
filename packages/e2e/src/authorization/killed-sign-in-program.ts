/** One process that opens `startUrl` or the callback, or refreshes, and can be killed at each of its points. */
import { receiveTask, stopAtFetch, stopAtStore } from "../durable/killed-process.ts";
import { openStoreAt } from "../durable/store-place.ts";
import { createNotesApplication } from "./notes-application.ts";
import { type KilledSignInTask, type SignInKillPoint, workOf } from "./sign-in-kill-points.ts";

const { task, at } = await receiveTask<SignInKillPoint, KilledSignInTask>();
const { place, point, use, callbackUrl } = task;
const work = workOf(point);

const { store } = await openStoreAt(place);
const endpoint = work === "start" ? "/reg" : "/token";
const { ask, reachCallback, callback } = createNotesApplication(use, {
  store: stopAtStore(store, (when, operation, number) =>
    at(`${work}: ${when} ${operation} ${number}`),
  ),
  fetch: stopAtFetch(
    ({ url }) => url.endsWith(endpoint),
    (when) => at(`${work}: ${when === "sent" ? "request sent" : "answer received"}`),
  ),
});
if (work === "start") await reachCallback();
else if (work === "callback") await callback(callbackUrl!);
else await ask();
