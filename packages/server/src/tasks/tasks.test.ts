import { createMemoryStore } from "@durable-mcp/core";
import { McpServer } from "@modelcontextprotocol/server";
import { expect, test } from "vitest";
import { call } from "../../test/carts.ts";
import { createFragileStore } from "../../test/fragile-store.ts";
import { startTasks } from "../../test/tasks.ts";
import { taskTool } from "../tasks.ts";

const accept = (size: unknown, more = {}) => ({ action: "accept", content: { size, ...more } });
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const text = (result: Record<string, any> | undefined) => result?.["result"]?.content?.[0]?.text;

test("a call is a task for a client that takes them, and any replica has its result", async () => {
  await using tasks = startTasks();
  const [one, two] = [await tasks.replica(), await tasks.replica()];
  const { result } = await one.call("work", "tea");
  expect(result).toMatchObject({ resultType: "task", status: "working", pollIntervalMs: 10 });
  expect(Object.keys(result!)).not.toContain("content");
  const taskId = String(result!["taskId"]);
  await expect.poll(async () => (await two.get(taskId))?.["statusMessage"]).toBe("works on tea");
  one.work.open();
  const done = await two.until(taskId, "completed");
  expect(text(done)).toBe("worked on tea");
  // What a handler does to the state is stored, as in a plain call.
  two.work.open();
  expect(await call(await tasks.modern(two.url), "work", { item: "jam" })).toBe("worked on jam");
  const { records } = await tasks.store.list({ limit: 100 });
  const state = records.find(({ key }) => key.includes('"state"'));
  expect(state?.value).toMatchObject({ state: { items: ["tea", "jam"] } });
  expect(JSON.stringify(records)).not.toContain(taskId);
});

test("clients that take no tasks get plain answers, in sessions too", async () => {
  await using tasks = startTasks();
  const { url, work } = await tasks.replica();
  work.open();
  for (const client of [await tasks.modern(url), await tasks.older(url), await tasks.old(url)]) {
    expect(await call(client, "work", { item: "tea" })).toBe("worked on tea");
    const { extensions } = (client as { getServerCapabilities(): any }).getServerCapabilities();
    expect(extensions?.["io.modelcontextprotocol/tasks"] !== undefined).toBe(
      client === undefined || !("getNegotiatedProtocolVersion" in client)
        ? false
        : client.getNegotiatedProtocolVersion() === "2026-07-28",
    );
  }
  const response = await tasks.post(url, "tasks/get", { taskId: "x" }, { "mcp-name": "x" });
  expect(await response.json()).toMatchObject({
    error: {
      code: -32_021,
      data: { requiredCapabilities: { extensions: { "io.modelcontextprotocol/tasks": {} } } },
    },
  });
});

test("a task belongs to its principal", async () => {
  await using tasks = startTasks();
  const { begin, send, get, work, until } = await tasks.replica();
  const taskId = await begin("work");
  for (const method of ["tasks/get", "tasks/update", "tasks/cancel"]) {
    const { error } = await send(method, { taskId, inputResponses: {} }, "bob");
    expect(error).toMatchObject({ code: -32_602 });
    expect(error?.message).not.toContain(taskId);
  }
  expect(await get("no id, but text")).toBeUndefined();
  work.open();
  await until(taskId, "completed");
  const ofAda = await tasks.store.list({ limit: 10, owner: ownerOf("ada") });
  expect(ofAda.records.some(({ key }) => key.includes('"task"'))).toBe(true);
});

const ownerOf = (id: string) => JSON.stringify(["default", "user", "test", id]);

test("a question waits without a process, and whoever gets the answer goes on", async () => {
  await using tasks = startTasks();
  const [one, two] = [await tasks.replica(), await tasks.replica()];
  const taskId = await one.begin("order");
  const asked = await one.until(taskId, "input_required");
  expect(asked["inputRequests"]).toMatchObject({ size: { method: "elicitation/create" } });
  await one.handler.drain();
  // What does not fit is refused, and the question stays.
  const { error } = await two.update(taskId, { size: accept("large") });
  expect(error).toMatchObject({ code: -32_602, data: { field: "size.content.size" } });
  expect(error?.message).toMatch(/^inputResponses: size\.content\.size .*No answer was taken\.$/);
  expect(two.work.runs).toEqual([]);
  expect((await two.update(taskId, { size: accept(1, { other: 1 }) })).error).toBeUndefined();
  const again = await two.until(taskId, "input_required");
  // The same key of the author, and another one for the client.
  expect(Object.keys(again["inputRequests"])).toEqual(["size-2"]);
  // An answer to the first question is none to the second.
  await two.update(taskId, { size: accept(7), unknown: accept(8) });
  expect((await two.get(taskId))?.["status"]).toBe("input_required");
  await Promise.all([1, 2, 3].map((size) => two.update(taskId, { "size-2": accept(size) })));
  const done = await two.until(taskId, "completed");
  expect(text(done)).toMatch(/^tea of size [123]$/);
  expect(two.work.runs).toEqual(["tea", "tea"]);
});

test("questions are answered one by one, each once", async () => {
  await using tasks = startTasks();
  const [one, two] = [await tasks.replica(), await tasks.replica()];
  const taskId = await one.begin("both");
  await one.until(taskId, "input_required");
  await two.update(taskId, { left: accept(1) });
  const { status, inputRequests } = (await one.get(taskId))!;
  expect([status, Object.keys(inputRequests)]).toEqual(["input_required", ["right"]]);
  await one.update(taskId, { left: accept(7), right: { action: "decline", content: {} } });
  expect((await one.get(taskId))?.["status"]).toBe("input_required");
  await one.update(taskId, { left: accept(7), right: accept(2) });
  expect(text(await two.until(taskId, "completed"))).toBe("1 and 2");
  expect([...one.work.runs, ...two.work.runs]).toEqual(["both", "both"]);
});

test("a cancel from another replica aborts the handler, and its result is refused", async () => {
  await using tasks = startTasks();
  const [one, two] = [await tasks.replica(), await tasks.replica()];
  const taskId = await one.begin("work");
  await expect.poll(() => one.work.runs).toEqual(["tea"]);
  expect((await two.cancel(taskId)).result).toMatchObject({ resultType: "complete" });
  expect((await two.get(taskId))?.["status"]).toBe("cancelled");
  await expect.poll(() => one.work.aborted).toEqual(["tea"]);
  one.work.open();
  await pause(50);
  expect((await one.get(taskId))?.["status"]).toBe("cancelled");
  expect((await one.cancel(taskId)).result).toMatchObject({ resultType: "complete" });
});

test("a task that is removed is aborted, and does not come back", async () => {
  await using tasks = startTasks();
  const one = await tasks.replica();
  const taskId = await one.begin("work");
  const ofTasks = async () => {
    const { records } = await tasks.store.list({ limit: 100 });
    return records.filter(({ key }) => key.includes('"task"'));
  };
  for (const { key } of await ofTasks()) await tasks.store.delete(key);
  await expect.poll(() => one.work.aborted).toEqual(["tea"]);
  one.work.open();
  await pause(50);
  expect(await ofTasks()).toEqual([]);
  expect(await one.get(taskId)).toBeUndefined();
});

test("a result for a task that was removed is refused, with an event", async () => {
  await using tasks = startTasks({ timeouts: { pollIntervalMs: 5_000 } });
  const one = await tasks.replica();
  await one.begin("work");
  await expect.poll(() => one.work.runs).toEqual(["tea"]);
  const { records } = await tasks.store.list({ limit: 100 });
  const [{ key } = { key: "" }] = records.filter((each) => each.key.includes('"task"'));
  await tasks.store.delete(key);
  one.work.open();
  await expect.poll(() => tasks.events).toContainEqual({ type: "task-late" });
  expect(await tasks.store.get(key)).toBeUndefined();
});

test("errors: a protocol error fails the task, others are results; what is too long is not kept", async () => {
  await using tasks = startTasks();
  const { begin, until } = await tasks.replica();
  expect(await until(await begin("break", "protocol"), "failed")).toMatchObject({
    error: { code: -32_000, message: "It broke.", data: { part: "axle" } },
  });
  const wrong = await until(await begin("break", "other"), "completed");
  expect(wrong["result"]).toMatchObject({ isError: true, content: [{ text: "It went wrong." }] });
  const long = await until(await begin("break", "long"), "failed");
  expect(long["error"].message).toContain("Its work has been done.");
});

test("a tool with an output schema; and a task is kept for ttlMs", async () => {
  await using tasks = startTasks();
  const { begin, until, send } = await tasks.replica();
  const taskId = await begin("structured");
  const done = await until(taskId, "completed");
  expect(done["result"]).toMatchObject({ structuredContent: { item: "tea" } });
  await expect
    .poll(async () => (await send("tasks/get", { taskId })).error)
    .toMatchObject({ code: -32_602 });
});

test("arguments that do not fit are refused, and begin no task", async () => {
  await using tasks = startTasks();
  const { send } = await tasks.replica();
  const { result } = await send("tools/call", { name: "work", arguments: { item: 1 } });
  expect(result).toMatchObject({ isError: true, resultType: "complete" });
});

test("a drain waits for tasks at work", async () => {
  await using tasks = startTasks();
  const [one, two] = [await tasks.replica(), await tasks.replica()];
  const taskId = await one.begin("work");
  await expect.poll(() => one.work.runs).toEqual(["tea"]);
  const draining = one.handler.drain({ timeoutMs: 20_000 });
  setTimeout(one.work.open, 100);
  await draining;
  expect(text(await two.get(taskId))).toBe("worked on tea");
});

test("a drain without time fails a task, or leaves it to the next replica", async () => {
  const store = createMemoryStore();
  await using tasks = startTasks({ store });
  const slow = createFragileStore(store);
  slow.control.interfere = async (operation, run, keys) => {
    if (operation === "put" && keys.includes('"task"')) await pause(50);
    return await run();
  };
  const [one, two] = [await tasks.replica({ store: slow.store }), await tasks.replica()];
  const [lost, again] = [await one.begin("work"), await one.begin("work_again", "jam")];
  await expect.poll(() => one.work.runs).toEqual(["tea", "jam"]);
  await one.handler.drain({ timeoutMs: 20 });
  const { status, error } = (await two.get(lost))!;
  expect([status, error.data.code]).toEqual(["failed", "OUTCOME_UNKNOWN"]);
  // The drain has stored it: nobody had to find out.
  expect(tasks.events).not.toContainEqual({ type: "task-lost", runsAgain: false });
  two.work.open();
  expect(text(await two.until(again, "completed"))).toBe("worked on jam");
  expect(two.work.runs).toEqual(["jam"]);
  expect(tasks.events).toContainEqual({ type: "task-lost", runsAgain: true });
});

test("a process that is taken for dead has its result refused, with an event", async () => {
  const store = createMemoryStore();
  await using tasks = startTasks({ store, timeouts: { leaseMs: 300, pollIntervalMs: 5_000 } });
  const slow = createFragileStore(store);
  const over = Promise.withResolvers<void>();
  let isHeld = false;
  slow.control.interfere = async (_operation, run, keys) => {
    if (isHeld && keys.includes('","replica"')) await over.promise;
    return await run();
  };
  const one = await tasks.replica({ store: slow.store });
  const two = await tasks.replica();
  const taskId = await one.begin("work");
  await expect.poll(() => one.work.runs).toEqual(["tea"]);
  isHeld = true;
  const failed = await two.until(taskId, "failed");
  expect(failed["error"]).toMatchObject({
    data: { code: "OUTCOME_UNKNOWN" },
    message: expect.stringContaining("Whether the work was done is unknown"),
  });
  expect(tasks.events).toContainEqual({ type: "task-lost", runsAgain: false });
  one.work.open();
  await expect.poll(() => tasks.events).toContainEqual({ type: "task-late" });
  expect((await two.get(taskId))?.["status"]).toBe("failed");
  over.resolve();
});

test("a lost task that is cancelled is not begun again", async () => {
  await using tasks = startTasks();
  const [one, two] = [await tasks.replica(), await tasks.replica()];
  const taskId = await one.begin("work_again");
  await expect.poll(() => one.work.runs).toEqual(["tea"]);
  await one.handler.drain({ timeoutMs: 20 });
  await two.cancel(taskId);
  expect((await two.get(taskId))?.["status"]).toBe("cancelled");
  expect(two.work.runs).toEqual([]);
});

test("limits: tasks that are kept, and tasks at work", async () => {
  await using tasks = startTasks({ limits: { tasksPerPrincipal: 3, requestsPerPrincipal: 2 } });
  const { begin, call: callTool, work, get, until } = await tasks.replica();
  const [first] = [await begin("work"), await begin("work")];
  const { error } = await callTool("work", "tea");
  expect(error).toMatchObject({ code: -32_000 });
  expect(error?.message).toContain("limits.requestsPerPrincipal");
  expect((await get(first))?.["status"]).toBe("working");
  work.open();
  await until(first, "completed");
  await until(await begin("work"), "completed");
  const kept = await callTool("work", "tea");
  expect(kept.error?.message).toContain("limits.tasksPerPrincipal: 3");
  expect(tasks.events).toContainEqual({ type: "refused", reason: "too-many-tasks" });
});

test("taskTool wants serveTasks, and known options", () => {
  const server = new McpServer({ name: "x", version: "1" });
  expect(() => taskTool(server, "x", {}, () => ({ content: [] }))).toThrow(/serveTasks/);
});
