/** A long-lived process that needs a token as it is told, at the same time as others. */
import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { SessionStore } from "@durable-mcp/core";
import { openStoreAt } from "../durable/store-place.ts";
import { createNotesApplication } from "./notes-application.ts";
import type { LoadReport, Race, RefresherReport, RefresherTask } from "./refresher-protocol.ts";

const tasks: RefresherTask[] = [];
const waiting: ((task: RefresherTask) => void)[] = [];
process.on("message", (task: RefresherTask) => {
  const waiter = waiting.shift();
  if (waiter) waiter(task);
  else tasks.push(task);
});
const nextTask = async () =>
  tasks.shift() ?? (await new Promise<RefresherTask>((resolve) => waiting.push(resolve)));
const report = (message: RefresherReport) => void process.send!(message);

report({ type: "waiting" });
const start = await nextTask();
if (start.type !== "start") throw new Error("The first task has to be start.");
const { store } = await openStoreAt(start.place);
report({ type: "waiting" });

for (;;) {
  const task = await nextTask();
  if (task.type === "race") await race(task);
  else if (task.type === "load") report({ type: "loaded", ...(await load(task)) });
  else throw new Error(`There is no task ${task.type} here.`);
}

/** Says that it waits, until all others do. */
async function meet(): Promise<void> {
  report({ type: "waiting" });
  const task = await nextTask();
  if (task.type !== "go") throw new Error(`${task.type} came instead of go.`);
}

async function race({ use, meets, isSignIn = false }: Race): Promise<void> {
  let isToMeet = meets === "claim";
  const meeting: SessionStore = {
    ...store,
    async put(...args) {
      if (isToMeet) {
        isToMeet = false;
        await meet();
      }
      return await store.put(...args);
    },
  };
  const { ask, signIn } = createNotesApplication(use, { store: meeting });
  if (meets === "start") await meet();
  const startedAt = Date.now();
  const asking = isSignIn ? signIn().then(ask) : ask();
  const { outcome, words } = await asking.catch((error: unknown) => ({
    ...{ outcome: "error", words: String(error) },
  }));
  const isUser = outcome === use.user;
  report({ type: "done", outcome: isUser ? outcome : words, ms: Date.now() - startedAt });
}

async function load({
  use,
  everyMs,
  untilMs,
}: RefresherTask & { type: "load" }): Promise<LoadReport> {
  const { oauth, principal, ask } = createNotesApplication(use, { store });
  const tokens: Record<string, number> = {};
  const failures: string[] = [];
  let [requests, bare, stale, slowestMs] = [0, 0, 0, 0];
  // Not all at the same moment.
  await sleep(Math.random() * everyMs);
  for (;;) {
    const startedAt = Date.now();
    const got = await oauth.getToken({ principal, connection: "notes", url: use.url });
    if (got?.expiresAt === undefined) bare += 1;
    else {
      if (Date.now() >= got.expiresAt) stale += 1;
      const digest = createHash("sha256").update(got.token).digest("hex").slice(0, 16);
      tokens[digest] = got.expiresAt;
    }
    if (startedAt >= untilMs) return { requests, bare, failures, slowestMs, tokens, stale };
    const { outcome, words } = await ask();
    requests += 1;
    if (outcome !== use.user) failures.push(words);
    const ms = Date.now() - startedAt;
    slowestMs = Math.max(slowestMs, ms);
    await sleep(Math.max(0, everyMs - ms));
  }
}
