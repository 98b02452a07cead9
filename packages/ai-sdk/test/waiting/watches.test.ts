import { createMemoryStore, type SessionStore } from "@durable-mcp/core";
import { afterEach, expect, test, vi } from "vitest";
import { createSqliteStore } from "../../../stores/src/sqlite.ts";
import { bothStores } from "../../../sessions/test/both-stores.ts";
import { alice, bob } from "../step.ts";
import { createDurableSessions, defineMcpClientConnection } from "../../src/index.ts";
import { defineMcpStdioConnection } from "../../src/stdio.ts";
import { resource, startWatching, texts } from "./watching.ts";

const use = { principal: alice };
const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

const stores: [string, (now: () => number) => SessionStore][] = [
  ["the memory store", (now) => createMemoryStore({ now })],
  ["an encrypted store", (now) => bothStores[1]![1](createMemoryStore({ now }))],
  [
    "SQLite",
    () => {
      const store = createSqliteStore({ path: ":memory:" });
      closing.push(() => store.close());
      return store;
    },
  ],
];

for (const session of ["stateful", "stateless"] as const)
  test.each(stores)(`a changed resource is news, once, over %s (${session})`, async (_, make) => {
    const { watch, board, looked, news, pass, sessions } = await startWatching(make, session);
    const call = await watch();
    expect(call).toMatchObject({ type: "watch", state: "waiting", tool: resource, news: 0 });
    expect((await watch()).id).toBe(call.id);
    expect(await looked()).toEqual([]);
    pass();
    expect(await looked()).toMatchObject([{ call: { news: 0 } }]);
    for (const text of ["B", "A"]) {
      board.text = text;
      pass();
      await looked();
    }
    pass();
    expect(await looked()).toMatchObject([
      { sessionId: "chat", principal: alice, call: { id: call.id, news: 2, state: "waiting" } },
    ]);
    expect(await sessions.waiting("chat", use)).toMatchObject([{ type: "watch", news: 2 }]);
    const found = await news();
    expect(texts(found)).toEqual(["B", "A"]);
    expect(found).toMatchObject([{ type: "changed", connection: "notes", resource }, {}]);
    expect(await news()).toEqual([]);
    expect(await sessions.waiting("chat", use)).toMatchObject([{ news: 0 }]);
    pass();
    expect(await looked()).toMatchObject([{ call: { news: 0 } }]);
  });

test("a step that fails has taken nothing", async () => {
  const { watch, board, looked, news, pass, sessions } = await startWatching();
  await watch();
  board.text = "B";
  pass();
  await looked();
  const failing = sessions.run("chat", use, async (run) => {
    expect(texts(await run.waiting.news())).toEqual(["B"]);
    expect(await run.waiting.news()).toEqual([]);
    throw new Error("a bug");
  });
  await expect(failing).rejects.toThrow("a bug");
  expect(texts(await news())).toEqual(["B"]);
  expect(await news()).toEqual([]);
});

test("nobody else gets the news, and another chat has a watch of its own", async () => {
  const { watch, board, looked, news, pass } = await startWatching();
  const ids = [await watch(), await watch("chat", bob), await watch("other")];
  board.text = "B";
  pass();
  expect(await looked()).toHaveLength(3);
  for (const [chat, principal] of [
    ["chat", alice],
    ["chat", bob],
    ["other", alice],
  ] as const)
    expect(texts(await news(chat, principal))).toEqual(["B"]);
  expect(await news("other", bob)).toEqual([]);
  expect(new Set(ids.map(({ id }) => id)).size).toBe(1);
});

test("a server that has restarted, or is away, loses nothing that it still has", async () => {
  const { watch, board, looked, news, pass, server } = await startWatching();
  await watch();
  server.forgetSessions();
  board.text = "B";
  pass();
  await looked();
  server.intercept((_, response) => void response.writeHead(503).end());
  board.text = "C";
  pass();
  await looked();
  server.intercept(() => "next");
  pass();
  await looked();
  expect(texts(await news())).toEqual(["B", "C"]);
});

test("a resource that is gone is news, and so is its return", async () => {
  const { watch, board, looked, news, pass } = await startWatching();
  await watch();
  for (const text of [undefined, undefined, "A"]) {
    board.text = text;
    pass();
    await looked();
  }
  expect(texts(await news())).toEqual([undefined, "A"]);
});

test("a looker that dies between the entry and its own place delivers nothing twice", async () => {
  const { watch, board, looked, news, pass, store, startProcess } = await startWatching();
  await watch();
  const dying: SessionStore = {
    ...store,
    async put(key, value, ...others) {
      const isPlace = typeof value === "object" && JSON.stringify(value).includes('"place":1,"pos');
      if (isPlace && !key.includes("news/")) throw new Error("The process is gone.");
      return await store.put(key, value, ...others);
    },
  };
  board.text = "B";
  pass();
  vi.spyOn(console, "warn").mockImplementation(() => undefined);
  await looked(startProcess(dying)).catch(() => undefined);
  // The agent has it, before anybody has noted that the watch has passed it.
  expect(texts(await news())).toEqual(["B"]);
  board.text = "C";
  pass(120_000);
  await looked();
  board.text = "B";
  pass();
  await looked();
  expect(texts(await news())).toEqual(["C", "B"]);
}, 30_000);

test("a watch that no step renews ends, and says so", async () => {
  const { watch, looked, news, pass, sessions } = await startWatching(
    undefined,
    "stateful",
    300_000,
  );
  await watch();
  pass(240_000);
  await watch();
  pass(240_000);
  expect(await looked()).toMatchObject([{ call: { state: "waiting" } }]);
  pass(120_000);
  expect(await looked()).toMatchObject([{ call: { state: "expired" } }]);
  expect(await news()).toMatchObject([{ type: "end", connection: "notes", resource }]);
  expect(await sessions.waiting("chat", use)).toEqual([]);
  await watch();
  expect(await news()).toEqual([]);
  expect(await sessions.waiting("chat", use)).toHaveLength(1);
});

test.each(["unwatch", "withdraw"] as const)("%s ends a watch with its news", async (how) => {
  const { watch, board, looked, news, pass, sessions } = await startWatching();
  const { id } = await watch();
  board.text = "B";
  pass();
  await looked();
  if (how === "withdraw") await sessions.withdraw("chat", id, use);
  else await sessions.run("chat", use, (run) => run.unwatch("notes", { resource }));
  expect(await news()).toEqual([]);
  expect(await sessions.waiting("chat", use)).toEqual([]);
  pass();
  expect(await looked()).toEqual([]);
});

test("the end of a chat ends its watches", async () => {
  const { watch, board, looked, pass, sessions, store } = await startWatching();
  await watch();
  board.text = "B";
  pass();
  await looked();
  await sessions.end("chat", use);
  expect((await store.list({ limit: 10 })).records).toEqual([]);
});

test("a full inbox says so, and nobody looks until a step has taken it", async () => {
  const { watch, board, looked, news, pass } = await startWatching();
  await watch();
  for (let count = 0; count < 103; count += 1) {
    board.text = `${count}`;
    pass();
    await looked();
  }
  const found = await news();
  expect(found).toHaveLength(101);
  expect(found.at(-1)).toMatchObject({ type: "overflow" });
  pass();
  await looked();
  expect(texts(await news())).toEqual(["102"]);
}, 30_000);

test("long texts are cut, and of what is no text there is the size", async () => {
  const { watch, board, looked, news, pass } = await startWatching();
  await watch();
  board.text = "x".repeat(30_000);
  pass();
  await looked();
  const [entry] = await news();
  expect(entry).toMatchObject({ cut: 10_000 });
  expect(texts([entry!])[0]).toHaveLength(20_000);
});

test("watching needs its option, a store, and a resource that is there", async () => {
  const { sessions, board, server } = await startWatching();
  board.text = undefined;
  const watching = sessions.run("chat", use, (run) => run.watch("notes", { resource }));
  await expect(watching).rejects.toThrow("Gone");
  const notes = defineMcpClientConnection({
    ...{ url: server.url, description: "Notes.", waiting: true },
  });
  const program = defineMcpStdioConnection({ command: "notes", description: "A program." });
  const connections = { notes, program };
  const without = createDurableSessions({ connections, store: createMemoryStore() });
  for (const [name, field] of [
    ["notes", "connections.notes.waiting.watch"],
    ["program", "connections.program"],
  ] as const) {
    const refused = without.run("chat", use, (run) => run.watch(name, { resource }));
    await expect(refused).rejects.toMatchObject({ code: "CONNECTION_INVALID", data: { field } });
  }
});

test("watches at which nobody can look do not stand before others", async () => {
  const { watch, looked, pass, store, clock } = await startWatching();
  await watch();
  pass(180_000);
  const without = createDurableSessions({ connections: {}, store, now: clock });
  expect(await looked(without as never)).toHaveLength(1);
  expect(await looked()).toEqual([]);
  pass(600_000);
  expect(await looked()).toMatchObject([{ call: { state: "waiting" } }]);
});
