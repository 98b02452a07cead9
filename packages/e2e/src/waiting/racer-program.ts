/** A long-lived process that answers questions as it is told, at the same time as another one. */
import { McpSessionError, type SessionStore } from "@durable-mcp/core";
import { openStoreAt } from "../durable/store-place.ts";
import type { RacerReport, RacerTask } from "./racer-protocol.ts";
import { answer, createShop } from "./waiting-shop.ts";

const tasks: ((task: RacerTask) => void)[] = [];
process.on("message", (task: RacerTask) => tasks.shift()?.(task));
const nextTask = () => new Promise<RacerTask>((resolve) => tasks.push(resolve));
const report = (message: RacerReport) => void process.send!(message);

const starting = nextTask();
report({ type: "waiting" });
const start = await starting;
if (start.type !== "start") throw new Error("The first task has to be start.");
const { store } = await openStoreAt(start.place);
let isToMeet = false;
const meeting: SessionStore = {
  ...store,
  async put(...args) {
    // Both have read the call, and each is about to claim it.
    if (isToMeet) {
      isToMeet = false;
      const go = nextTask();
      report({ type: "waiting" });
      await go;
    }
    return await store.put(...args);
  },
};
const shop = createShop({ url: start.url, store: meeting });

for (;;) {
  const task = await nextTask();
  if (task.type !== "race") throw new Error(`There is no task ${task.type} here.`);
  isToMeet = true;
  const outcome = await answer(shop, task.sessionId, { id: task.id, round: 1 }).then(
    ({ state }) => state,
    (error: unknown) => (McpSessionError.isInstance(error) ? error.code : String(error)),
  );
  report({ type: "done", outcome });
}
