import { createMemoryStore, type SessionStore } from "@durable-mcp/core";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { createRpcClient } from "../../../core/test/rpc-client.ts";
import { collectEvents } from "../collect-events.ts";
import { startProcess } from "../durable-process.ts";
import {
  type NotebookServer,
  startNotebookServer,
} from "../../../sessions/test/notebook-server.ts";
import { alice } from "../step.ts";
import { openSessionFetch, type OpenSessionFetchOptions } from "../../src/index.ts";

type Own = Partial<OpenSessionFetchOptions>;
const clientInfo = { name: "somebody's client", version: "7" };
const initialize = { clientInfo, capabilities: { roots: {} } };

/** A store that says what it is asked. */
function counted() {
  const store = createMemoryStore();
  const asked: string[] = [];
  const entries = Object.entries(store).map(([name, method]) => {
    if (typeof method !== "function") return [name, method];
    const told = (...args: never[]) => {
      asked.push(name);
      return (method as (...given: never[]) => unknown)(...args);
    };
    return [name, told];
  });
  return { store: Object.fromEntries(entries) as SessionStore, asked };
}

/** One process with an open fetch, and a client on it. */
async function open(server: NotebookServer, store: SessionStore, own: Own = {}) {
  const { onEvent, events } = collectEvents();
  const opened = await openSessionFetch({
    ...{ url: server.url, store, session: "chat", principal: alice, connection: "notes", onEvent },
    ...own,
  });
  onTestFinished(opened.close);
  const client = createRpcClient(opened.fetch, server.url);
  const add = async (text: string) => {
    const params = { name: "add_note", arguments: { text } };
    const answer = await client.request("tools/call", params);
    return answer.result?.content[0].text as string;
  };
  return { ...opened, client, add, events, types: () => events.map(({ type }) => type) };
}

/** Lets a minute pass at each call. */
function minutes(): () => void {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  onTestFinished(() => void vi.useRealTimers());
  return () => void vi.advanceTimersByTime(60_000);
}

const posts = ({ requests }: NotebookServer, method: string) =>
  requests.filter(({ message }) => message?.method === method);

describe("a fetch with a store", () => {
  test("goes on in the next process with one request, which is the call", async () => {
    const server = await startNotebookServer();
    const store = createMemoryStore();
    const first = await open(server, store);
    await first.client.handshake(initialize);
    expect(await first.add("a")).toBe("1 notes");
    await first.close();
    const before = server.requests.length;
    const second = await open(server, store);
    await second.client.handshake(initialize);
    expect(await second.add("b")).toBe("2 notes");
    expect(server.requests).toHaveLength(before + 1);
    expect(second.types()).toContain("resumed");
  });

  test("goes on after a kill: nothing was closed", async () => {
    const server = await startNotebookServer();
    const store = createMemoryStore();
    await (await open(server, store)).add("a");
    expect(await (await open(server, store)).add("b")).toBe("2 notes");
    expect(server.sessionIds).toHaveLength(1);
  });

  test("of ten that open it at once makes one session, and ends nine", async () => {
    const server = await startNotebookServer();
    const store = createMemoryStore();
    const all = await Promise.all(Array.from({ length: 10 }, () => open(server, store)));
    const counts = await Promise.all(all.map(async ({ add }) => await add("x")));
    await Promise.all(all.map(({ close }) => close()));
    expect(counts.toSorted()).toEqual(
      Array.from({ length: 10 }, (_, at) => `${at + 1} notes`).toSorted(),
    );
    expect(server.sessionIds).toHaveLength(10);
    expect(server.liveSessions()).toBe(1);
  });

  test("costs a read and a write at first, nothing for a call, and two operations for a minute of use", async () => {
    const pass = minutes();
    const server = await startNotebookServer();
    const { store, asked } = counted();
    const { add, close } = await open(server, store);
    // Nothing has used it so far.
    pass();
    await add("a");
    expect(asked).toEqual(["get", "put"]);
    for (const text of ["b", "c", "d"]) await add(text);
    expect(asked).toHaveLength(2);
    pass();
    await expect.poll(() => asked.slice(2)).toEqual(["get", "touch"]);
    // Nothing has used it since.
    pass();
    await close();
    expect(asked).toHaveLength(4);
  });

  test("is the session of a run, and of the lists of operators", async () => {
    const server = await startNotebookServer();
    const store = createMemoryStore();
    const { add, close } = await open(server, store);
    await add("a");
    await close();
    const { sessions } = startProcess(server, store);
    const use = { principal: alice };
    const called = await sessions.run("chat", use, (run) =>
      run.call("notes", "add_note", { text: "b" }),
    );
    expect(called).toMatchObject({ content: [{ text: "2 notes" }] });
    const listed = await sessions.admin.list({});
    expect(listed.sessions).toMatchObject([
      { connection: "notes", sessionId: "chat", kind: "session" },
    ]);
    expect(await (await open(server, store)).add("c")).toBe("3 notes");
  });

  test("is ended by durable sessions, although its name is the address and nobody has declared it", async () => {
    const server = await startNotebookServer();
    const store = createMemoryStore();
    const opened = await open(server, store, { connection: undefined });
    await opened.add("a");
    await opened.close();
    const { sessions } = startProcess(server, store);
    const ended = await sessions.end("chat", { principal: alice });
    expect(ended).toMatchObject([{ connection: server.url, ended: true, removed: true }]);
    expect(server.liveSessions()).toBe(0);
  });

  test("refuses an address for a name that may have a secret in it", async () => {
    const server = await startNotebookServer();
    const url = `${server.url}?key=abcdefgh12345678`;
    const opening = open(server, createMemoryStore(), { connection: undefined, url });
    await expect(opening).rejects.toMatchObject({
      code: "CONNECTION_INVALID",
      data: { field: "connection" },
    });
  });
});

describe("after a loss", () => {
  test("who comes later takes the session of who came first, and makes none", async () => {
    const server = await startNotebookServer();
    const { store, asked } = counted();
    const [first, second] = await Promise.all([open(server, store), open(server, store)]);
    await first.add("a");
    await second.add("b");
    server.forgetSessions();
    const made = server.sessionIds.length;
    expect(await first.add("c")).toBe("1 notes");
    asked.length = 0;
    expect(await second.add("d")).toBe("2 notes");
    expect(server.sessionIds).toHaveLength(made + 1);
    expect(asked).toEqual(["get"]);
    expect(second.types()).toEqual(expect.arrayContaining(["lost", "adopted", "recovered"]));
    expect([first, second].map(({ takeLossNotice }) => takeLossNotice())).toEqual([true, true]);
  });

  test("a run takes it, too", async () => {
    const server = await startNotebookServer();
    const store = createMemoryStore();
    const { add } = await open(server, store);
    await add("a");
    const { sessions } = startProcess(server, store);
    await sessions.run("chat", { principal: alice }, async (run) => {
      await run.call("notes", "add_note", { text: "b" });
      server.forgetSessions();
      await add("c");
      const called = await run.call("notes", "add_note", { text: "d" });
      expect(JSON.stringify(called)).toContain("2 notes");
    });
    expect(server.liveSessions()).toBe(1);
    expect(server.sessionIds).toHaveLength(2);
  });

  test("a newer session is taken up at the next mark, even if the server still knows the one before", async () => {
    const pass = minutes();
    const server = await startNotebookServer();
    server.intercept(({ method }, response) =>
      method === "DELETE" ? void response.writeHead(204).end() : "next",
    );
    const store = createMemoryStore();
    const kept = await open(server, store);
    await kept.add("a");
    await startProcess(server, store).sessions.restart("chat", { principal: alice });
    expect(await (await open(server, store)).add("b")).toBe("1 notes");
    expect(await kept.add("c")).toBe("2 notes");
    expect(server.liveSessions()).toBe(2);
    pass();
    await expect.poll(kept.types).toContain("adopted");
    expect(await kept.add("d")).toBe("2 notes");
    expect(kept.types()).not.toContain("lost");
    expect(kept.takeLossNotice()).toBe(true);
  });

  test("a call under way keeps the session marked, and ends on it", async () => {
    const pass = minutes();
    const server = await startNotebookServer();
    const { store, asked } = counted();
    const { client, add } = await open(server, store);
    await add("a");
    const waiting = client.request("tools/call", { name: "wait" });
    await expect.poll(() => server.waits).toEqual(["started"]);
    for (const marks of [1, 2, 3]) {
      pass();
      await expect.poll(() => asked.filter((name) => name === "touch")).toHaveLength(marks);
    }
    server.release();
    expect(await waiting).toMatchObject({ result: { content: [{ text: "finished" }] } });
  });

  test("a process that has seen no initialize sends the client's own info", async () => {
    const server = await startNotebookServer();
    const store = createMemoryStore();
    const first = await open(server, store);
    await first.client.handshake(initialize);
    await first.add("a");
    server.forgetSessions();
    expect(await (await open(server, store)).add("b")).toBe("1 notes");
    const sent = posts(server, "initialize").map(({ message }) => message.params);
    expect(sent).toHaveLength(2);
    expect(sent[1]).toMatchObject(initialize);
  });
});

describe("the end", () => {
  test("needs no request before, with the credentials of the options", async () => {
    const server = await startNotebookServer();
    const store = createMemoryStore();
    const headers = { authorization: "Bearer of-alice" };
    const first = await open(server, store, { headers });
    await first.add("a");
    await first.close();
    const { end, fetch } = await open(server, store, { headers: async () => headers });
    expect(await end()).toMatchObject({ connection: "notes", ended: true, removed: true });
    expect(server.requests.at(-1)).toMatchObject({ method: "DELETE", headers });
    expect(server.liveSessions()).toBe(0);
    await expect(fetch(server.url)).rejects.toMatchObject({ code: "CONNECTION_UNAVAILABLE" });
  });

  test("and the losers of a race go out with the client's own credentials", async () => {
    const server = await startNotebookServer();
    const store = createMemoryStore();
    const authorization = "Bearer of-alice";
    const all = await Promise.all([open(server, store), open(server, store)]);
    const ping = (each: (typeof all)[number]) =>
      createRpcClient(each.fetch, server.url, { authorization }).request("ping");
    await Promise.all(all.map(ping));
    await Promise.all(all.map(({ close }) => close()));
    const deletes = server.requests.filter(({ method }) => method === "DELETE");
    expect(deletes).toMatchObject([{ headers: { authorization } }]);
    expect(await all[0].end()).toMatchObject({ ended: true });
    expect(server.requests.at(-1)).toMatchObject({ method: "DELETE", headers: { authorization } });
    expect(server.liveSessions()).toBe(0);
  });

  test("leaves nothing to make anew for a fetch with create: false", async () => {
    const server = await startNotebookServer();
    const store = createMemoryStore();
    const none = open(server, store, { create: false });
    await expect(none).rejects.toMatchObject({
      code: "SESSION_LOST",
      data: { connection: "notes" },
    });
    await (await open(server, store)).add("a");
    const kept = await open(server, store, { create: false });
    expect(await kept.add("b")).toBe("2 notes");
    server.forgetSessions();
    expect(await kept.add("c")).toBe("1 notes");
    const { sessions } = startProcess(server, store);
    await sessions.end("chat", { principal: alice });
    const made = server.sessionIds.length;
    await expect(kept.add("d")).rejects.toMatchObject({ code: "SESSION_LOST" });
    await kept.close();
    expect(server.sessionIds).toHaveLength(made);
    expect((await sessions.list({ principal: alice })).sessions).toEqual([]);
  });

  test("of a record while a new session is made: nothing is saved, and that session is ended", async () => {
    const server = await startNotebookServer();
    const store = createMemoryStore();
    await (await open(server, store)).add("a");
    const kept = await open(server, store, { create: false });
    server.forgetSessions();
    const { sessions } = startProcess(server, store);
    server.intercept(({ message }) => {
      if (message?.method !== "notifications/initialized") return "next";
      return sessions.end("chat", { principal: alice }).then(() => "next" as const);
    });
    await expect(kept.add("b")).rejects.toMatchObject({ code: "SESSION_LOST" });
    await kept.close();
    expect(server.liveSessions()).toBe(0);
    expect((await sessions.list({ principal: alice })).sessions).toEqual([]);
  });

  test("comes with a sweep after idleTimeoutMs, and with age after maxAgeMs", async () => {
    const server = await startNotebookServer();
    let time = Date.now();
    const now = () => time;
    const store = createMemoryStore({ now });
    const opened = await open(server, store, { now, idleTimeoutMs: 1_000, maxAgeMs: 3_600_000 });
    await opened.add("a");
    await opened.close();
    time += 3_600_001;
    const aged = await open(server, store, { now, idleTimeoutMs: 1_000, maxAgeMs: 3_600_000 });
    expect(await aged.add("b")).toBe("1 notes");
    await aged.close();
    expect(aged.events).toContainEqual(
      expect.objectContaining({ type: "discarded", reason: "age" }),
    );
    expect(server.liveSessions()).toBe(1);
    time += 3_600_001;
    const { sessions } = startProcess(server, store, { now });
    await sessions.admin.sweep({ authorize: () => ({ principal: alice }) });
    expect(server.liveSessions()).toBe(0);
  });
});

test("a store that fails is told at once, and at a close as an event", async () => {
  const server = await startNotebookServer();
  const store = createMemoryStore();
  const failing = { ...store, get: () => Promise.reject(new Error("down")) };
  await expect(open(server, failing)).rejects.toMatchObject({ code: "STORE_FAILED" });
  const opened = await open(server, { ...store, put: () => Promise.reject(new Error("down")) });
  await expect(opened.add("a")).rejects.toMatchObject({ code: "STORE_FAILED" });
  await opened.close();
  expect(server.liveSessions()).toBe(0);
});
