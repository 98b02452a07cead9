import { createMemoryStore, type SessionStore } from "@durable-mcp/core";
import { afterEach, describe, expect, test, vi } from "vitest";
import {
  type NotebookServer,
  startNotebookServer,
} from "../../../sessions/test/notebook-server.ts";
import { notebook } from "../saved-session.ts";
import { alice, bob, callForText } from "../step.ts";
import {
  type ConnectionEvent,
  createConnectionProvider,
  createDurableSessions,
  currentConnections,
  type DurableSessions,
  type StoredAutoSessionOptions,
  withConnections,
} from "../../src/index.ts";

/** A busy machine takes its time. */
const patient = { timeout: 10_000 };
const nightly = { principal: alice, sessionId: "nightly-import" };
/** Others of this process listen as well: `@openai/agents`, once it is loaded. */
const listenersBefore = process.listenerCount("beforeExit");
const running: Pick<DurableSessions<any>, "shutdown">[] = [];

afterEach(async () => {
  for (const sessions of running.splice(0)) await sessions.shutdown();
});

/** A script on a store. */
function startScript(
  server: NotebookServer,
  store: SessionStore,
  options: Partial<StoredAutoSessionOptions> = {},
) {
  const events: ConnectionEvent[] = [];
  const sessions = createDurableSessions({
    connections: { notes: notebook(server) },
    store,
    autoSession: { ...nightly, ...options },
    onEvent: { every: (event) => events.push(event) },
  });
  running.push(sessions);
  return { sessions, events, types: () => events.map(({ type }) => type) };
}

const call = async (tool: string, input: object = {}) => {
  const result = await currentConnections().call("notes", tool, { ...input });
  return (result.content as { text: string }[])[0]!.text;
};
const addNote = (text: string) => call("add_note", { text });

describe("the implicit session of a store", () => {
  test("is found again under its id by a later script, with one request a call", async () => {
    const server = await startNotebookServer();
    const store = createMemoryStore();
    const first = startScript(server, store);
    await Promise.all([addNote("a"), currentConnections().tools()]);
    await first.sessions.shutdown();
    expect(() => currentConnections()).toThrow(expect.objectContaining({ code: "RUN_REQUIRED" }));
    server.requests.length = 0;

    startScript(server, store);
    expect(await call("list_notes")).toBe("a");
    const tools = await currentConnections().tools();
    expect(await callForText(tools, "notes__add_note", { text: "b" })).toBe("2 notes");
    expect(server.log).toEqual(["POST tools/call", "POST tools/call"]);
    expect(server.sessionIds).toHaveLength(1);
  });

  test("closes and saves when it is idle, and goes on in the same session", async () => {
    const server = await startNotebookServer();
    const { sessions, types } = startScript(server, createMemoryStore(), { idleTimeoutMs: 30 });
    const tools = await currentConnections().tools();
    const saved = async () =>
      (await sessions.list({ principal: alice, sessionId: nightly.sessionId })).sessions;
    // The tool list is written at the end.
    await vi.waitFor(async () => expect(await saved()).toMatchObject([{ tools: {} }]), patient);
    expect(await callForText(tools, "notes__add_note", { text: "a" })).toBe("1 notes");
    await vi.waitFor(
      () => expect(process.listenerCount("beforeExit")).toBe(listenersBefore),
      patient,
    );
    expect(await call("list_notes")).toBe("a");
    expect(server.sessionIds).toHaveLength(1);
    expect(types()).not.toContain("ended");
  });

  test("is kept when it is disposed of, and ended by `end`", async () => {
    const server = await startNotebookServer();
    const { sessions, types } = startScript(server, createMemoryStore());
    await currentConnections().tools();
    expect(await addNote("a")).toBe("1 notes");
    await currentConnections().dispose();
    expect(server.liveSessions()).toBe(1);
    expect(await addNote("b")).toBe("2 notes");

    // It is in use: it is closed before it is ended.
    const ended = await sessions.end(nightly.sessionId, { principal: alice });
    expect(ended).toMatchObject([{ connection: "notes", ended: true }]);
    expect(server.liveSessions()).toBe(0);
    expect(await addNote("c")).toBe("1 notes");
    await sessions.restart(nightly.sessionId, { principal: alice });
    expect(await addNote("d")).toBe("1 notes");
    await sessions.endAll({ principal: alice });
    expect(server.liveSessions()).toBe(0);
    await currentConnections().dispose();
    expect(
      (await sessions.list({ principal: alice, sessionId: nightly.sessionId })).sessions,
    ).toEqual([]);
    expect(types()).not.toContain("conflict");
    expect(types()).not.toContain("lost");
  });

  test("tells the model when the server had forgotten it meanwhile", async () => {
    const server = await startNotebookServer();
    startScript(server, createMemoryStore());
    const tools = await currentConnections().tools();
    await addNote("a");
    await currentConnections().dispose();
    server.forgetSessions();
    expect(await callForText(tools, "notes__list_notes")).toBe("");
    await currentConnections().dispose();
    server.forgetSessions();
    const how = { toolCallId: "1", messages: [], context: {} };
    const result = await tools["notes__list_notes"]!.execute!({}, how);
    expect(result).toMatchObject({ _meta: { "durable-mcp/sessionReplaced": true } });
  });

  test("has named sessions, which last as long as it does", async () => {
    const server = await startNotebookServer();
    const store = createMemoryStore();
    const { sessions } = startScript(server, store);
    await addNote("a");
    await withConnections({ notes: { named: "research" } }, async (registry) => {
      expect(await addNote("b")).toBe("1 notes");
      const tools = await registry.tools();
      expect(await callForText(tools, "notes__list_notes")).toBe("b");
      expect(await currentConnections().tools()).toHaveProperty("notes__add_note");
    });
    const { named } = currentConnections();
    await named.create("draft", { connections: ["notes"] });
    expect((await named.list()).map(({ name }) => name)).toEqual(["draft", "research"]);
    await sessions.shutdown();

    startScript(server, store);
    expect(await currentConnections().named.run("research", () => call("list_notes"))).toBe("b");
    expect(await call("list_notes")).toBe("a");
    expect(await currentConnections().named.find("draft")).toMatchObject({ name: "draft" });
    await currentConnections().named.end("draft");
    expect(await currentConnections().named.find("draft")).toBeUndefined();
    expect(server.liveSessions()).toBe(2);
  });

  test("is its principal's", async () => {
    const server = await startNotebookServer();
    const store = createMemoryStore();
    const { sessions } = startScript(server, store);
    await addNote("a");
    await sessions.shutdown();
    startScript(server, store, { principal: bob });
    expect(await call("list_notes")).toBe("");
  });

  test("rejects while the store fails, and works again afterwards", async () => {
    const server = await startNotebookServer();
    const store = createMemoryStore();
    let isDown = true;
    startScript(server, {
      ...store,
      get: async (...key) => {
        if (isDown) throw new Error("down");
        return await store.get(...key);
      },
    });
    await expect(addNote("a")).rejects.toMatchObject({ code: "STORE_FAILED" });
    expect(process.listenerCount("beforeExit")).toBe(listenersBefore);
    isDown = false;
    expect(await addNote("a")).toBe("1 notes");
  });

  test("is one of a process, and ends with the provider that it uses", async () => {
    const server = await startNotebookServer();
    const provider = createConnectionProvider({ connections: { notes: notebook(server) } });
    const autoSession = nightly;
    const make = () => createDurableSessions({ provider, store: createMemoryStore(), autoSession });
    running.push(make());
    expect(make).toThrow(
      expect.objectContaining({ code: "CONNECTION_INVALID", data: { field: "autoSession" } }),
    );
    expect(await addNote("a")).toBe("1 notes");
    await provider.shutdown();
    expect(server.liveSessions()).toBe(1);
    expect(() => currentConnections()).toThrow(expect.objectContaining({ code: "RUN_REQUIRED" }));
  });

  test.each([
    [{ principal: alice }, "CONNECTION_INVALID", "autoSession.sessionId"],
    [{ ...nightly, sessionId: "" }, "CONNECTION_INVALID", "autoSession.sessionId"],
    [{ sessionId: "nightly" }, "PRINCIPAL_REQUIRED", "principal"],
    [{ ...nightly, idleTimeoutMs: 0 }, "CONNECTION_INVALID", "autoSession.idleTimeoutMs"],
  ])("refuses %j", (autoSession, code, field) => {
    const make = () =>
      createDurableSessions({ connections: {}, store: createMemoryStore(), autoSession } as any);
    expect(make).toThrow(expect.objectContaining({ code, data: { field } }));
  });
});
