import { createMemoryStore } from "@durable-mcp/core";
import { expect, test } from "vitest";
import { startProcess } from "../../test/durable-process.ts";
import { createFaultyStore } from "@durable-mcp/testing";
import { startNotebookServer } from "../../test/notebook-server.ts";
import { alice, bob, callForText, outdateTools } from "../../test/step.ts";

const list = (tools: any) => callForText(tools, "notes__list_notes");
const addNote = (tools: any, text: string) => callForText(tools, "notes__add_note", { text });

test("one session lasts over processes, and a resumed one sends nothing but its calls", async () => {
  const server = await startNotebookServer();
  const store = createMemoryStore();
  await startProcess(server, store).sessions.run("chat", { principal: alice }, async (run) =>
    addNote(await run.tools(), "milk"),
  );
  server.requests.length = 0;
  const second = startProcess(server, store);
  const found = await second.sessions.run("chat", { principal: alice }, async (run) =>
    list(await run.tools()),
  );
  expect(found).toBe("milk");
  expect(server.log).toEqual(["POST tools/call"]);
  expect(second.types()).toEqual(["resumed"]);
});

test("a session is saved after onStart and before any call", async () => {
  const server = await startNotebookServer();
  const held = createFaultyStore(createMemoryStore());
  const order: string[] = [];
  held.before("put", () => void order.push(`put after ${server.log.at(-1)}`));
  const { sessions } = startProcess(server, held.store, {
    session: {
      onStart: async ({ client }) => {
        await client.callTool({ name: "add_note", arguments: { text: "set up" } });
        order.push("onStart");
      },
    },
  });
  await sessions.run("chat", { principal: alice }, async (run) => {
    expect(await list(await run.tools())).toBe("set up");
  });
  expect(order[0]).toBe("onStart");
  expect(order[1]).toBe("put after POST tools/list");
  expect(server.log).toEqual([
    "POST initialize",
    "POST notifications/initialized",
    "POST tools/call",
    "POST tools/list",
    "POST tools/call",
  ]);
});

test("each agent session, principal and agent has sessions of its own", async () => {
  const server = await startNotebookServer();
  const store = createMemoryStore();
  const { sessions } = startProcess(server, store);
  const { sessions: ofPlanner } = startProcess(server, store, { agent: "planner" });
  const run = (of: typeof sessions, chat: string, principal: typeof alice) =>
    of.run(chat, { principal }, async (own) => addNote(await own.tools(), "mine"));
  expect(await run(sessions, "chat", alice)).toBe("1 notes");
  expect(await run(sessions, "chat", bob)).toBe("1 notes");
  expect(await run(sessions, "other", alice)).toBe("1 notes");
  expect(await run(ofPlanner, "chat", alice)).toBe("1 notes");
  expect(await run(sessions, "chat", alice)).toBe("2 notes");
  expect(server.sessionIds).toHaveLength(4);
});

test("agents that share have one session for each principal", async () => {
  const server = await startNotebookServer();
  const store = createMemoryStore();
  const use = (principal: typeof alice) =>
    startProcess(server, store, { share: true }).sessions.run("chat", { principal }, async (run) =>
      addNote(await run.tools(), "ours"),
    );
  expect(await use(alice)).toBe("1 notes");
  expect(await use(alice)).toBe("2 notes");
  expect(await use(bob)).toBe("1 notes");
});

test.each([
  ["no principal", () => ({ principal: undefined }), "PRINCIPAL_REQUIRED"],
  ["no agent session", () => ({ sessionId: "" }), "CONNECTION_INVALID"],
])("%s is an error, and nothing is sent", async (_, change, code) => {
  const server = await startNotebookServer();
  const { sessions } = startProcess(server, createMemoryStore());
  const { sessionId = "chat", principal } = { principal: alice, ...change() } as any;
  for (const call of [
    sessions.open(sessionId, { principal }),
    sessions.list({ principal, sessionId }),
    sessions.status(sessionId, { principal }),
    sessions.restart(sessionId, { principal }),
    sessions.clearTools(sessionId, { principal }),
    sessions.end(sessionId, { principal }),
  ]) {
    await expect(call).rejects.toMatchObject({ code });
  }
  expect(server.log).toEqual([]);
});

test("a principal is needed to list and to delete", async () => {
  const { sessions } = startProcess({ url: "http://127.0.0.1:9/mcp" }, createMemoryStore());
  const nobody = { principal: undefined } as any;
  await expect(sessions.list(nobody)).rejects.toMatchObject({ code: "PRINCIPAL_REQUIRED" });
  await expect(sessions.endAll(nobody)).rejects.toMatchObject({ code: "PRINCIPAL_REQUIRED" });
});

test("a run that throws releases its session, and throws", async () => {
  const server = await startNotebookServer();
  const { sessions } = startProcess(server, createMemoryStore());
  const failure = new Error("the model is down");
  await expect(
    sessions.run("chat", { principal: alice }, async (run) =>
      addNote(await run.tools(), "kept").then(() => Promise.reject(failure)),
    ),
  ).rejects.toBe(failure);
  const found = await sessions.run("chat", { principal: alice }, async (run) =>
    list(await run.tools()),
  );
  expect(found).toBe("kept");
});

test("a store that is down when a session is opened fails the open", async () => {
  const server = await startNotebookServer();
  const held = createFaultyStore(createMemoryStore());
  const { sessions } = startProcess(server, held.store);
  held.fail("get");
  await expect(sessions.open("chat", { principal: alice })).rejects.toMatchObject({
    code: "STORE_FAILED",
  });
  expect(server.log).toEqual([]);
});

test("a session that cannot be saved is ended, and the open fails", async () => {
  const server = await startNotebookServer();
  const held = createFaultyStore(createMemoryStore());
  const { sessions } = startProcess(server, held.store);
  held.fail("put");
  await expect(sessions.open("chat", { principal: alice })).rejects.toMatchObject({
    code: "STORE_FAILED",
  });
  expect(server.log).toContain("DELETE");
  expect(server.liveSessions()).toBe(0);
  held.heal();
  const lease = await sessions.open("chat", { principal: alice });
  expect(await addNote(await lease.tools(), "works")).toBe("1 notes");
  await lease.dispose();
});

test("results are kept when the store fails at the end, and that is reported", async () => {
  const server = await startNotebookServer();
  const held = createFaultyStore(createMemoryStore());
  const { sessions, events } = startProcess(server, held.store);
  const result = await sessions.run("chat", { principal: alice }, async (run) => {
    const text = await addNote(await run.tools(), "done");
    await outdateTools(run);
    held.fail("put");
    return text;
  });
  expect(result).toBe("1 notes");
  const { error, ...event } = events.at(-1) as any;
  expect(event).toEqual({ type: "store-failed", connection: "notes", operation: "close" });
  expect(error).toMatchObject({ code: "STORE_FAILED" });
  expect(error).not.toHaveProperty("cause");
});

test("the tool list is kept for the steps to come", async () => {
  const server = await startNotebookServer();
  const store = createMemoryStore();
  const { sessions } = startProcess(server, store);
  await sessions.run("chat", { principal: alice }, () => undefined);
  const [info] = (await sessions.list({ principal: alice, sessionId: "chat" })).sessions;
  expect(info).toMatchObject({ kind: "session", tools: { count: 4 } });
  await sessions.clearTools("chat", { principal: alice });
  expect((await sessions.list({ principal: alice, sessionId: "chat" })).sessions).not.toMatchObject(
    [{ tools: {} }],
  );
  server.requests.length = 0;
  await sessions.run("chat", { principal: alice }, () => undefined);
  expect(server.log).toEqual(["POST tools/list"]);
});

test("an aborted open says why, and leaves nothing open", async () => {
  const server = await startNotebookServer();
  const { sessions } = startProcess(server, createMemoryStore());
  const reason = new Error("the user left");
  const controller = new AbortController();
  server.intercept(() => {
    controller.abort(reason);
    return "next";
  });
  await expect(
    sessions.open("chat", { principal: alice, abortSignal: controller.signal }),
  ).rejects.toBe(reason);
  await expect(
    sessions.open("chat", { principal: alice, abortSignal: AbortSignal.abort(reason) }),
  ).rejects.toBe(reason);
});
