// A process of the tests with several: `node store-worker-program.ts <module URL> <data as JSON>`.
import { setTimeout as sleep } from "node:timers/promises";
import type { SessionStore } from "@durable-mcp/core";
import { writeBatch } from "@durable-mcp/core/internal";
import type { OpenedStore } from "./store-test.ts";
import type { StoreTask, StoreWorkerMessage } from "./store-worker.ts";

const [moduleUrl = "", data = "null"] = process.argv.slice(2);
const { default: open } = (await import(moduleUrl)) as {
  default: (data: unknown) => OpenedStore | Promise<OpenedStore>;
};
let store: SessionStore | undefined;

process.on("message", (task: StoreTask) => {
  carryOut(task).then(
    (result) => send({ result }),
    (error: unknown) => send({ error: String(error) }),
  );
});
// Without its tests the process has no purpose.
process.on("disconnect", () => process.exit());
send({ ready: true });

async function carryOut(task: StoreTask): Promise<number> {
  store ??= (await open(JSON.parse(data))).store;
  switch (task.task) {
    case "count":
      return count(store, task.key, task.times);
    case "create":
      return Number((await store.put(task.key, task.value, null, { owner: "a process" })).ok);
    case "delete":
      return Number((await store.delete(task.key, task.revision)).ok);
    case "count both":
      return countBoth(store, task.keys, task.times);
    case "publish":
      await store.publish?.(task.topic);
      return 0;
    default:
      // Some connect only when they are used.
      await store.get("");
      return 0;
  }
}

async function count(from: SessionStore, key: string, times: number): Promise<number> {
  let conflicts = 0;
  let current = await from.get(key);
  for (let done = 0; done < times;) {
    if (current === undefined) throw new Error("The value is gone.");
    const value = Number(current.value) + 1;
    // Others write meanwhile. Without this a fast store serves one process after the other.
    await sleep(Math.random() * 4);
    const answer = await from.put(key, value, current.revision, { owner: "a process" });
    if (answer.ok) {
      done += 1;
      current = { value, revision: answer.revision };
    } else {
      conflicts += 1;
      current = answer.current;
    }
  }
  return conflicts;
}

async function countBoth(
  from: SessionStore,
  keys: readonly [string, string],
  times: number,
): Promise<number> {
  let conflicts = 0;
  for (let done = 0; done < times;) {
    const found = await Promise.all(keys.map((key) => from.get(key)));
    await sleep(Math.random() * 4);
    const writes = keys.map((key, index) => ({
      ...{ type: "put" as const, key, value: Number(found[index]?.value) + 1 },
      ...{ ifRevision: found[index]?.revision ?? null, owner: "a process" },
    }));
    // In both orders, which invites a deadlock.
    if (Math.random() < 0.5) writes.reverse();
    if ((await writeBatch(from, writes)).ok) done += 1;
    else conflicts += 1;
  }
  return conflicts;
}

function send(message: StoreWorkerMessage): void {
  process.send?.(message);
}
