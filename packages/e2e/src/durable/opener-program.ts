/**
 * A long-lived process of an application: opens agent sessions as it is told, and meets the other
 * processes where it is told to.
 */
import { createNotebookSessions, callNotebook, principal } from "./notebook-sessions.ts";
import type { OpenerReport, OpenerTask } from "./opener-protocol.ts";
import { openStoreAt } from "./store-place.ts";

const tasks: ((task: OpenerTask) => void)[] = [];
process.on("message", (task: OpenerTask) => tasks.shift()?.(task));

const nextTask = () => new Promise<OpenerTask>((resolve) => tasks.push(resolve));
const report = (message: OpenerReport) => void process.send!(message);

/** Says that this process is there, and waits until all are. */
async function meet(): Promise<void> {
  const go = nextTask();
  report({ type: "waiting" });
  await go;
}

const start = await (async () => {
  const first = nextTask();
  report({ type: "waiting" });
  return await first;
})();
if (start.type !== "start") throw new Error("The first task has to be start.");
const { store, close } = await openStoreAt(start.place);
let meetsAtSave = false;
const { sessions, events } = createNotebookSessions({
  url: start.url,
  shared: start.shared,
  store: {
    ...store,
    async put(...args) {
      // Once a round: a save that is tried again is not held again.
      const isHeld = meetsAtSave;
      meetsAtSave = false;
      if (isHeld) await meet();
      return await store.put(...args);
    },
  },
});

for (;;) {
  const next = nextTask();
  report({ type: "waiting" });
  const task = await next;
  if (task.type === "end") break;
  if (task.type !== "round") throw new Error(`There is no task ${task.type} here.`);
  const { sessionId, loss, meetAt, note } = task;
  events.length = 0;
  if (!loss) {
    if (meetAt === "save") meetsAtSave = true;
    else await meet();
  }
  const lease = await sessions.open(sessionId, { principal });
  if (loss) {
    // All are in the session that is going to be lost.
    await callNotebook(await lease.tools(), "list_notes");
    await meet();
    if (meetAt === "save") meetsAtSave = true;
    else await meet();
  }
  await callNotebook(await lease.tools(), "add_note", { text: note });
  await lease.dispose();
  report({ type: "done", adopted: events.includes("adopted"), events: [...events] });
}
await close?.();
process.disconnect();
