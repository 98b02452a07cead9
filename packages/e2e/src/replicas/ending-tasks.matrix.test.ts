import { createMemoryStore } from "@durable-mcp/core";
import { afterEach, expect, test } from "vitest";
import { openTestStore, type TestStore } from "../durable/store-place.ts";
import type { TestServer } from "../servers/server-process.ts";
import { createLab } from "../waiting/waiting-lab.ts";
import { runEndingTasks, startResearchingServer } from "./ending-tasks-run.ts";
import { answerTask, callTool, cancelTask, getTask, type Task, textOf } from "./task-client.ts";

let store: TestStore | undefined;
const servers: TestServer[] = [];

async function startTwo(...more: string[]): Promise<readonly [TestServer, TestServer]> {
  store = await openTestStore("sqlite");
  const { location } = store;
  const start = () => startResearchingServer(location, ...more);
  const [one, two] = await Promise.all([start(), start()]);
  servers.push(one, two);
  return [one, two];
}

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.stop()));
  await store?.close();
  store = undefined;
});

async function until({ url }: TestServer, taskId: string, status: string): Promise<Task> {
  let task: Task | undefined;
  await expect
    .poll(async () => (task = await getTask(url, taskId)).status, { interval: 50 })
    .toBe(status);
  return task!;
}

test("a task whose worker is killed has failed within a lease, and says that it may have been done", async () => {
  const [one, two] = await startTwo();
  const { taskId } = await callTool(one.url, "research", { topic: "tea", ms: 60_000 });
  await one.kill();
  const killedAt = Date.now();
  const { error } = await until(two, taskId, "failed");
  expect(error).toMatchObject({ data: { code: "OUTCOME_UNKNOWN" } });
  // The lease is 2 seconds.
  expect(Date.now() - killedAt).toBeLessThan(6_000);
});

test("a task that may run again is done by the other replica", async () => {
  const [one, two] = await startTwo();
  const { taskId } = await callTool(one.url, "research_again", { topic: "tea", ms: 1_000 });
  await one.kill();
  expect(textOf(await until(two, taskId, "completed"))).toBe("All about tea.");
});

test("a question outlives its replica, and its answer is taken once", async () => {
  const [one, two] = await startTwo();
  const { taskId } = await callTool(one.url, "research", { topic: "tea", asks: true });
  const asked = await until(one, taskId, "input_required");
  await one.kill();
  const years = ["1901", "1902", "1903", "1904"];
  await Promise.all(years.map((year) => answerTask(two.url, asked, year)));
  const said = textOf(await until(two, taskId, "completed"));
  expect(years.map((year) => `All about tea in ${year}.`)).toContain(said);
  expect(textOf({ result: (await callTool(two.url, "done", {})) as never })).toBe('["tea"]');
});

test("a cancel at the other replica stops the work, and a drain does not wait for it", async () => {
  const [one, two] = await startTwo();
  const { taskId } = await callTool(one.url, "research", { topic: "tea", ms: 60_000 });
  await cancelTask(two.url, taskId);
  expect((await getTask(one.url, taskId)).status).toBe("cancelled");
  const startedAt = Date.now();
  await one.restartPolitely();
  expect(Date.now() - startedAt).toBeLessThan(8_000);
});

test("a drain waits for a task at work", async () => {
  const [one, two] = await startTwo();
  const { taskId } = await callTool(one.url, "research", { topic: "tea", ms: 1_500 });
  await one.restartPolitely();
  expect(textOf(await getTask(two.url, taskId))).toBe("All about tea.");
});

test("our own connection parks a call, and answers its question at the other replica", async () => {
  const [one, two] = await startTwo("--asks");
  const kept = createMemoryStore();
  const kind = "task of 2026-07-28";
  let aheadMs = 0;
  const now = () => Date.now() + aheadMs;
  const labAt = ({ url }: TestServer) =>
    createLab({ kind, url, sessionId: "tea" }, { store: kept, now });
  const lab = labAt(one);
  await lab.research();
  await expect
    .poll(async () => {
      aheadMs += 5_000;
      await lab.look();
      return (await lab.waiting())[0]?.type;
    })
    .toBe("question");
  // The same address, and another process of the server.
  await one.restart();
  const [call] = await lab.waiting();
  await lab.answer(call!, "1999");
  await expect
    .poll(async () => {
      aheadMs += 5_000;
      await lab.look();
      return JSON.stringify(await lab.resume(call!.id));
    })
    .toContain("All about tea in 1999.");
  expect(textOf({ result: (await callTool(two.url, "done", {})) as never })).toBe('["tea"]');
});

const clean = { other: 0, hung: 0, foreign: 0, lost: 0, doubled: 0, askedTwice: 0, givenUp: 0 };

async function runWith(how: "kill" | "drain") {
  const seed = Math.floor(Math.random() * 1e6);
  store = await openTestStore("sqlite");
  const run = await runEndingTasks({ store: store.location, calls: 64, seed, how });
  console.log(`${how}, seed ${seed}`, run);
  return run;
}

// More calls, on each store: `npm run lab -- kill-server-tasks --store postgres`.
test("tasks of killed replicas end in their own result, or say that it is unknown", async () => {
  const run = await runWith("kill");
  expect(run).toMatchObject(clean);
  expect(run.completed).toBeGreaterThan(20);
});

test("a deploy loses no task", async () => {
  const run = await runWith("drain");
  expect(run).toMatchObject({ ...clean, unknown: 0, completed: 64 - run.broken });
});
