import { setTimeout } from "node:timers/promises";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createMemoryStore, type Principal, type SessionStore } from "@durable-mcp/core";
import {
  createRawClient,
  readMessages,
  takeEventId,
  takeEvents,
  whenListening,
} from "../../test/raw-client.ts";
import { createReplicas } from "../../test/replicas.ts";
import { createTaskJournal, createTasksServer } from "../../test/tasks-server.ts";
import type { SessionHandlerOptions } from "../index.ts";

const journal = createTaskJournal();
const { lines, held } = journal;
beforeEach(() => {
  lines.length = 0;
  held.clear();
});

const rejections: unknown[] = [];
process.on("unhandledRejection", (error) => rejections.push(error));
afterEach(() => {
  if (rejections.length > 0) throw new AggregateError(rejections.splice(0), "unhandled");
});

type Options = Partial<SessionHandlerOptions<never>>;
const serving = {
  createServer: ({ session }: { session: never }) => createTasksServer(session, journal),
} as object;

function startReplicas(options: Options = {}) {
  return createReplicas({ ...serving, ...(options as object) });
}

type Client = ReturnType<typeof createRawClient>;
let lastId = 100;

/** The answer to a request, or its error. */
async function request(client: Client, id: string, method: string, params: object = {}) {
  const requestId = ++lastId;
  const response = await client.post(id, { id: requestId, method, params });
  const answer = (await readMessages(response)).at(-1)?.message;
  return { ...answer?.result, error: answer?.error } as Record<string, any>;
}

async function begin(client: Client, id: string, name: string, args: object, task: object = {}) {
  const params = { name, arguments: args, task };
  const { task: begun, error } = await request(client, id, "tools/call", params);
  if (error) throw new Error(JSON.stringify(error));
  return begun as { taskId: string; ttl: number; status: string };
}

/** Calls `tasks/result`, with the question on its stream, and the answer at the end. */
async function openResult(client: Client, id: string, taskId: string) {
  const requestId = ++lastId;
  const params = { taskId };
  const response = await client.post(id, { id: requestId, method: "tasks/result", params });
  const [head, rest] = response.body!.tee();
  const again = new Response(rest, { headers: response.headers });
  return {
    requestId,
    question: async () => (await takeEvents(new Response(head), 1))[0]!.message,
    text: async () => {
      const last = (await readMessages(again)).at(-1)!.message;
      return last.result?.content?.[0]?.text ?? last.error?.message;
    },
  };
}

const principal = (sent: Request): Principal => ({
  ...{ type: "user", issuer: "test" },
  id: sent.headers.get("x-user") ?? "nobody",
});

const asker = { elicitation: { form: {} } };
const confirmed = { result: { action: "accept", content: { confirm: true } } };

async function startTwo(options: Options = {}) {
  const replicas = startReplicas(options);
  const [one, two] = [replicas.start(), replicas.start()];
  const id = await one.client.initialize(asker);
  return { ...replicas, one, two, id };
}

test("any replica tells how a task stands, waits for its result and lists it", async () => {
  const { one, two, id } = await startTwo();
  held.add("cats");
  const { taskId } = await begin(one.client, id, "research", { topic: "cats" });
  expect(await request(two.client, id, "tasks/get", { taskId })).toMatchObject({
    status: "working",
  });
  const result = await openResult(two.client, id, taskId);
  held.clear();
  expect(await result.text()).toBe("about cats");
  const { tasks } = await request(two.client, id, "tasks/list");
  expect(tasks).toMatchObject([{ taskId, status: "completed" }]);
});

test("a task that another replica cancels is aborted, and its late result refused", async () => {
  const { one, two, id, events } = await startTwo();
  held.add("dogs");
  const { taskId } = await begin(one.client, id, "research", { topic: "dogs" });
  const cancelled = await request(two.client, id, "tasks/cancel", { taskId });
  expect(cancelled).toMatchObject({ status: "cancelled" });
  await vi.waitFor(() => expect(lines).toContain("aborted dogs"));
  held.clear();
  await vi.waitFor(() => expect(lines).toContain("stored dogs"));
  expect(events).toContainEqual({ type: "task-late" });
  expect(await request(one.client, id, "tasks/get", { taskId })).toMatchObject({
    status: "cancelled",
  });
  const again = await request(two.client, id, "tasks/cancel", { taskId });
  expect(again["error"]).toMatchObject({ code: -32602 });
});

test("answers at another replica reach the task that asked, and no other", async () => {
  const { one, two, id } = await startTwo();
  // Both servers count their requests from 0.
  const first = await begin(one.client, id, "confirm_delete", { filename: "one.txt" });
  const second = await begin(two.client, id, "confirm_delete", { filename: "EVERYTHING" });
  const ones = await openResult(two.client, id, first.taskId);
  const twos = await openResult(one.client, id, second.taskId);
  const [question, other] = [await ones.question(), await twos.question()];
  expect(question.params?.["message"]).toBe("Delete one.txt?");
  expect(other.params?.["message"]).toBe("Delete EVERYTHING?");
  expect(question.id).not.toBe(other.id);
  expect((await two.client.post(id, { id: question.id, ...confirmed })).status).toBe(202);
  expect(await ones.text()).toBe("Deleted 'one.txt'");
  expect(lines).toEqual(["Deleted 'one.txt'"]);
  const no = { result: { action: "decline" } };
  await one.client.post(id, { id: other.id, ...no });
  expect(await twos.text()).toBe("Kept");
});

test("a question is asked again when nobody can have answered it, and not otherwise", async () => {
  const { one, two, id } = await startTwo({ timeouts: { leaseMs: 600 } });
  const { taskId } = await begin(one.client, id, "confirm_delete", { filename: "a.txt" });
  const first = await openResult(two.client, id, taskId);
  const { id: asked } = await first.question();
  const second = await openResult(one.client, id, taskId);
  const asks = second.question();
  await expect(Promise.race([asks, setTimeout(150, "nothing")])).resolves.toBe("nothing");
  const params = { requestId: first.requestId };
  await two.client.post(id, { method: "notifications/cancelled", params });
  expect((await asks).id).toBe(asked);
  await two.client.post(id, { id: asked, ...confirmed });
  expect(await second.text()).toBe("Deleted 'a.txt'");
  expect(lines).toEqual(["Deleted 'a.txt'"]);
});

/** A question that `two` takes for its client, whose stream it then breaks; the task runs in `one`. */
async function askAndDie(fault?: "never sent" | "not stored") {
  const { one, two, start, id } = await startTwo({ timeouts: { leaseMs: 300 } });
  const { taskId } = await begin(one.client, id, "confirm_delete", { filename: "a.txt" });
  await vi.waitFor(async () => {
    const task = await request(one.client, id, "tasks/get", { taskId });
    expect(task).toMatchObject({ status: "input_required" });
  });
  if (fault === "not stored") {
    two.control.interfere = (_operation, run, key) =>
      key.includes('"messages"') ? Promise.reject(new Error("down")) : run();
  }
  if (fault === "never sent") {
    two.control.interfere = async (operation, run, key) => {
      const isTaken = operation === "put" && key.includes('"session-task"');
      const result = await run();
      if (!isTaken) return result;
      two.kill();
      return await new Promise(() => {});
    };
  }
  const message = { id: ++lastId, method: "tasks/result", params: { taskId } };
  const [head, rest] = (await two.client.post(id, message)).body!.tee();
  const first = await takeEventId(new Response(head));
  if (fault === "never sent") return { one, start, id, taskId, first, place: first };
  const [question] = await takeEvents(new Response(rest), 1);
  // What was sent is stored a moment later.
  await setTimeout(50);
  two.kill();
  return { one, start, id, taskId, first, place: question!.eventId!, asked: question!.message.id };
}

const methods = async (response: Response) =>
  (await readMessages(response)).map(({ message }) => message.method ?? message.error?.data?.code);

const unlessLate = <T>(promise: Promise<T>) => Promise.race([promise, setTimeout(400, "nothing")]);

test.each(["first", "place"] as const)(
  "who resumes a stream whose replica died has its question, and is not asked again (%s)",
  async (from) => {
    const { start, one, id, taskId, asked, ...ids } = await askAndDie();
    const rest = await methods(await one.client.get(id, ids[from]));
    expect(rest).toEqual([...(from === "first" ? ["elicitation/create"] : []), "OUTCOME_UNKNOWN"]);
    // Nor is it when the replica of the next call dies as well.
    const three = start();
    const params = { taskId };
    const next = { id: ++lastId, method: "tasks/result", params };
    const place = await takeEventId(await three.client.post(id, next));
    await setTimeout(100);
    three.kill();
    expect(await methods(await one.client.get(id, place))).toEqual(["OUTCOME_UNKNOWN"]);
    const last = await openResult(one.client, id, taskId);
    expect(await unlessLate(last.question())).toBe("nothing");
    await one.client.post(id, { id: asked, ...confirmed });
    expect(await last.text()).toBe("Deleted 'a.txt'");
    expect(lines).toEqual(["Deleted 'a.txt'"]);
  },
);

test("who does not resume it is asked again, also after a call that had to ask nothing", async () => {
  const { start, one, id, taskId, place, asked } = await askAndDie();
  await methods(await one.client.get(id, place));
  const three = start();
  const params = { taskId };
  await three.client.post(id, { id: ++lastId, method: "tasks/result", params });
  await setTimeout(100);
  three.kill();
  const again = await openResult(one.client, id, taskId);
  expect((await again.question()).id).toBe(asked);
});

test.each(["never sent", "not stored"] as const)(
  "a question is asked after all if %s",
  async (fault) => {
    const { one, id, taskId, first } = await askAndDie(fault);
    expect(await methods(await one.client.get(id, first))).toEqual(["OUTCOME_UNKNOWN"]);
    const result = await openResult(one.client, id, taskId);
    const { id: asked } = await result.question();
    await one.client.post(id, { id: asked, ...confirmed });
    expect(await result.text()).toBe("Deleted 'a.txt'");
  },
);

test("with JSON answers a question comes once, on the listening stream", async () => {
  const { one, two, id } = await startTwo({ responseFormat: "json" });
  const { taskId } = await begin(one.client, id, "confirm_delete", { filename: "j.txt" });
  const listening = await whenListening(await one.client.get(id));
  const result = request(two.client, id, "tasks/result", { taskId });
  const again = request(one.client, id, "tasks/result", { taskId });
  const [head, rest] = listening.body!.tee();
  // After the task's new status.
  const [, question] = await takeEvents(new Response(head), 2);
  expect(await unlessLate(takeEvents(new Response(rest), 3))).toBe("nothing");
  const asked = question!.message.id;
  await one.client.post(id, { id: asked, ...confirmed });
  const done = { content: [{ text: "Deleted 'j.txt'" }] };
  expect([await result, await again]).toMatchObject([done, done]);
});

test("a task is working again after its question, and takes no second answer", async () => {
  const { one, two, id } = await startTwo();
  const { taskId } = await begin(one.client, id, "confirm_delete", { filename: "b.txt" });
  const result = await openResult(one.client, id, taskId);
  const { id: asked } = await result.question();
  expect(await request(two.client, id, "tasks/get", { taskId })).toMatchObject({
    status: "input_required",
  });
  await two.client.post(id, { id: asked, ...confirmed });
  await one.client.post(id, { id: asked, result: { action: "decline" } });
  expect(["Deleted 'b.txt'", "Kept"]).toContain(await result.text());
  expect(lines).toHaveLength(1);
});

test("who cancels at another replica rejects the open question, and its answer does nothing", async () => {
  const { one, two, id } = await startTwo();
  const { taskId } = await begin(one.client, id, "confirm_delete", { filename: "d.txt" });
  const result = await openResult(two.client, id, taskId);
  const { id: asked } = await result.question();
  await request(two.client, id, "tasks/cancel", { taskId });
  await vi.waitFor(() => expect(lines).toEqual([expect.stringMatching(/^d.txt: .*cancelled/)]));
  expect((await two.client.post(id, { id: asked, ...confirmed })).status).toBe(202);
  expect(await result.text()).toMatch(/cancelled/);
  await setTimeout(100);
  expect(lines).toHaveLength(1);
});

test("a session passes on no question of another one", async () => {
  const { one, two } = await startTwo({ principal });
  const [first, second] = [await one.client.initialize(asker), await two.client.initialize(asker)];
  const { taskId } = await begin(one.client, first, "confirm_delete", { filename: "e.txt" });
  const other = await openResult(two.client, second, taskId);
  // It looks several times.
  await setTimeout(150);
  const own = await openResult(two.client, first, taskId);
  const { id: asked } = await own.question();
  await two.client.post(first, { id: asked, ...confirmed });
  expect(await own.text()).toBe("Deleted 'e.txt'");
  // The first message on its stream is its answer.
  expect((await other.question()).result?.content?.[0]?.text).toBe("Deleted 'e.txt'");
});

test.each(["research", "confirm_delete"])(
  "when its process dies, a task has failed within a lease (%s)",
  async (name) => {
    const { one, two, id, events } = await startTwo({ timeouts: { leaseMs: 300 } });
    held.add("birds");
    const args = { topic: "birds", filename: "birds" };
    const { taskId } = await begin(one.client, id, name, args);
    if (name === "confirm_delete") await (await openResult(two.client, id, taskId)).question();
    one.kill();
    await vi.waitFor(async () => {
      const task = await request(two.client, id, "tasks/get", { taskId });
      expect(task).toMatchObject({ status: "failed" });
      expect(task["statusMessage"]).toMatch(/may have been done/);
    }, 2_000);
    const { error } = await request(two.client, id, "tasks/result", { taskId });
    expect(error).toMatchObject({ code: -32603, data: { code: "OUTCOME_UNKNOWN" } });
    expect(events.filter(({ type }) => type === "outcome-unknown")).toHaveLength(1);
  },
);

test("a drain waits for tasks, and one that takes too long has failed", async () => {
  const { one, two, id } = await startTwo();
  held.add("short").add("long");
  const short = await begin(one.client, id, "research", { topic: "short" });
  const long = await begin(one.client, id, "research", { topic: "long" });
  const draining = one.handler.drain({ timeoutMs: 300 });
  held.delete("short");
  await draining;
  const { taskId } = long;
  expect(await (await openResult(two.client, id, short.taskId)).text()).toBe("about short");
  const task = await request(two.client, id, "tasks/get", { taskId });
  expect(task).toMatchObject({ status: "failed" });
  expect(task["statusMessage"]).toMatch(/closed.*may have been done/);
  expect(lines).toContain("aborted long");
  held.clear();
  await vi.waitFor(() => expect(lines).toContain("stored long"));
});

test("the pool keeps a server whose task runs", async () => {
  const { one, id } = await startTwo({ limits: { liveSessions: 1 } });
  held.add("kept");
  const { taskId } = await begin(one.client, id, "research", { topic: "kept" });
  await expect(one.client.initialize()).rejects.toThrow("503");
  held.clear();
  expect(await (await openResult(one.client, id, taskId)).text()).toBe("about kept");
});

test("a ttl ends a task, aborts its work, and is bounded", async () => {
  const { one, two, id } = await startTwo({ timeouts: { taskMs: 5_000 } });
  held.add("brief");
  const brief = await begin(one.client, id, "research", { topic: "brief" }, { ttl: 200 });
  expect(brief.ttl).toBe(200);
  const long = await begin(one.client, id, "research", { topic: "long" }, { ttl: 1e9 });
  expect(long.ttl).toBe(5_000);
  await vi.waitFor(() => expect(lines).toContain("aborted brief"));
  const { error } = await request(two.client, id, "tasks/get", { taskId: brief.taskId });
  expect(error).toMatchObject({ code: -32602 });
  held.clear();
  await vi.waitFor(() => expect(lines).toContain("stored brief"));
});

test("a task belongs to its principal, in each of its sessions", async () => {
  const { one, two } = await startTwo({ principal });
  const [ada, again, eve] = ["ada", "ada", "eve"].map((user, index) =>
    createRawClient(index === 0 ? one.handler : two.handler, { "x-user": user }),
  );
  const { taskId } = await begin(ada!, await ada!.initialize(), "research", { topic: "x" });
  const other = await again!.initialize();
  expect(await (await openResult(again!, other, taskId)).text()).toBe("about x");
  const foreign = await eve!.initialize();
  for (const method of ["tasks/get", "tasks/result", "tasks/cancel"]) {
    const { error } = await request(eve!, foreign, method, { taskId });
    expect(error).toMatchObject({ code: -32602 });
  }
  expect(await request(eve!, foreign, "tasks/list")).toMatchObject({ tasks: [] });
});

test("anonymous clients have tasks in their own session, until it ends", async () => {
  const { one, two, id, store } = await startTwo();
  const { taskId } = await begin(one.client, id, "research", { topic: "y" });
  await (await openResult(one.client, id, taskId)).text();
  const other = await two.client.initialize();
  expect((await request(two.client, other, "tasks/get", { taskId }))["error"]).toBeDefined();
  expect(await request(two.client, other, "tasks/list")).toMatchObject({ tasks: [] });
  await one.client.end(id);
  const { records } = await store.list({ limit: 1_000 });
  expect(records.filter(({ key }) => key.includes("task"))).toEqual([]);
});

test("who looks at running tasks does not end one that is being stored", async () => {
  const { one, two, id } = await startTwo();
  held.add("early").add("new");
  // From then on its replica looks at what runs, every 20 ms.
  await begin(one.client, id, "research", { topic: "early" });
  one.control.interfere = async (operation, run, key) => {
    if (operation === "put" && key.includes('"session-task"')) await setTimeout(100);
    return await run();
  };
  const { taskId } = await begin(one.client, id, "research", { topic: "new" });
  one.control.interfere = undefined;
  expect(await request(one.client, id, "tasks/get", { taskId })).toMatchObject({
    status: "working",
  });
  held.clear();
  expect(await (await openResult(two.client, id, taskId)).text()).toBe("about new");
});

test("a list has pages, and refuses a cursor that is none", async () => {
  const { one, two, id } = await startTwo();
  const made: string[] = [];
  for (let n = 0; n < 60; n++) {
    made.push((await begin(one.client, id, "research", { topic: `${n}` })).taskId);
  }
  const first = await request(two.client, id, "tasks/list");
  expect(first["tasks"]).toHaveLength(50);
  const cursor = first["nextCursor"];
  const rest = await request(one.client, id, "tasks/list", { cursor });
  const listed = [...first["tasks"], ...rest["tasks"]].map(({ taskId }) => taskId);
  expect(listed).toHaveLength(made.length);
  expect(new Set(listed)).toEqual(new Set(made));
  expect(rest["nextCursor"]).toBeUndefined();
  for (const wrong of ["", "x", btoa("%"), btoa("[]"), `${cursor}00`]) {
    const { error } = await request(one.client, id, "tasks/list", { cursor: wrong });
    expect(error).toMatchObject({ code: -32602 });
    expect(error.message).toMatch(/cursor/);
  }
});

test("only so many tasks of a session run at once", async () => {
  const { one, id, events } = await startTwo({ limits: { tasksPerSession: 1 } });
  held.add("a").add("b");
  await begin(one.client, id, "research", { topic: "a" });
  const params = { name: "research", arguments: { topic: "b" }, task: {} };
  const { error } = await request(one.client, id, "tools/call", params);
  expect(error).toMatchObject({ code: -32602 });
  expect(events).toContainEqual({ type: "refused", reason: "too-many-tasks" });
  expect(lines).toEqual(["began a"]);
  held.clear();
});

test("a result that the store does not take fails the task, and rejects nothing", async () => {
  const { one, two, id, events } = await startTwo();
  held.add("z");
  const { taskId } = await begin(one.client, id, "research", { topic: "z" });
  one.control.interfere = (_operation, run, key) =>
    key.includes('"session-task') ? Promise.reject(new Error("down")) : run();
  held.clear();
  await vi.waitFor(() => expect(lines).toContain("stored z"));
  expect(events).toContainEqual(expect.objectContaining({ type: "store-failed" }));
  one.control.interfere = undefined;
  // What the lease lists is written when it is renewed.
  await vi.waitFor(async () => {
    const task = await request(one.client, id, "tasks/get", { taskId });
    expect(task).toMatchObject({ status: "failed" });
  });
  expect(await request(two.client, id, "tasks/get", { taskId })).toMatchObject({
    status: "failed",
  });
});

test("a result too long to store fails the task, and says so", async () => {
  const { one, two, id } = await startTwo({ events: { maxLength: 1_000 } });
  const topic = "t".repeat(2_000);
  const { taskId } = await begin(one.client, id, "research", { topic });
  await vi.waitFor(async () => {
    const task = await request(two.client, id, "tasks/get", { taskId });
    expect(task).toMatchObject({ status: "failed" });
    expect(task["statusMessage"]).toMatch(/events.maxLength/);
  });
});

test("a client's request that names a task is answered, and answers no question", async () => {
  const { one, id } = await startTwo();
  const { taskId } = await begin(one.client, id, "confirm_delete", { filename: "c.txt" });
  const named = { _meta: { "io.modelcontextprotocol/related-task": { taskId } } };
  // The question is the server's request 0.
  const response = await one.client.post(id, { id: 0, method: "ping", params: named });
  expect((await readMessages(response)).at(-1)?.message).toMatchObject({ id: 0, result: {} });
  const result = await openResult(one.client, id, taskId);
  const { id: asked } = await result.question();
  await one.client.post(id, { id: asked, ...confirmed });
  expect(await result.text()).toBe("Deleted 'c.txt'");
});

test("a tool with optional tasks answers an ordinary call", async () => {
  const { one, id } = await startTwo();
  expect(await one.client.call(id, "research", { topic: "plain" })).toMatchObject({
    text: "about plain",
  });
});

test("tasks need no more of a store than every store has", async () => {
  const store: SessionStore = { ...createMemoryStore() };
  for (const method of ["batch", "publish", "subscribe", "getMany"] as const) delete store[method];
  const { one, two, id } = await startTwo({ store });
  held.add("bare");
  const { taskId } = await begin(one.client, id, "research", { topic: "bare" });
  await request(two.client, id, "tasks/cancel", { taskId });
  await vi.waitFor(() => expect(lines).toContain("aborted bare"));
  held.clear();
});
