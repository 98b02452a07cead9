import { createMemoryStore, type SessionStore } from "@durable-mcp/core";
import { checkWaitingCalls, createWaitingCalls } from "@durable-mcp/core/waiting";
import { expect, test } from "vitest";
import { bothStores } from "../../../sessions/test/both-stores.ts";
import { createDurableSessions } from "../../src/index.ts";
import { alice, bob } from "../step.ts";
import { resource, startWatching, texts } from "./watching.ts";

const use = { principal: alice };

test("news that no step has taken outlive their watch, and one that begins anew", async () => {
  const { watch, board, looked, news, pass } = await startWatching(undefined, undefined, 300_000);
  await watch();
  board.text = "B";
  pass();
  await looked();
  pass(300_000);
  expect(await looked()).toMatchObject([{ call: { state: "expired" } }]);
  await watch();
  const found = await news();
  expect(found.map(({ type }) => type)).toEqual(["changed", "end"]);
  expect(texts(found)[0]).toBe("B");
  board.text = "C";
  pass();
  await looked();
  expect(texts(await news())).toEqual(["C"]);
});

test("a chat that ends while a process looks leaves nothing in the store", async () => {
  const { watch, board, looked, pass, sessions, store } = await startWatching(
    undefined,
    "stateless",
  );
  await watch();
  const { asked, answered: ended } = holdUp(board);
  board.text = "B";
  pass();
  const looking = looked();
  await asked.promise;
  await sessions.end("chat", use);
  ended.resolve();
  await looking;
  expect((await store.list({ limit: 10 })).records).toEqual([]);
});

test("a watch is taken back with its news where its connection is not declared any more", async () => {
  const { watch, board, looked, pass, store, clock } = await startWatching();
  const { id } = await watch();
  board.text = "B";
  pass();
  await looked();
  const other = createDurableSessions({ connections: {}, store, now: clock });
  await other.withdraw("chat", id, use);
  expect(await newsIn(store)).toEqual([]);
});

test("a step gets as much as a model can read, and the next one what is left", async () => {
  const { watch, board, looked, news, pass, sessions } = await startWatching();
  await watch();
  for (let count = 0; count < 6; count += 1) {
    board.text = `${count}${"x".repeat(30_000)}`;
    pass();
    await looked();
  }
  const first = await sessions.run("chat", use, async (run) => {
    const found = await run.waiting.news();
    expect(await run.waiting.news()).toEqual([]);
    return found;
  });
  expect(first).toHaveLength(4);
  expect(await sessions.waiting("chat", use)).toMatchObject([{ news: 2 }]);
  expect(texts(await news()).map((text) => text?.[0])).toEqual(["4", "5"]);
});

test("a watch is looked at no more often than it says", async () => {
  const { sessions } = await startWatching();
  const watching = (everyMs: number) =>
    sessions.run("chat", use, (run) => run.watch("notes", { resource }, { everyMs }));
  for (const everyMs of [99, 86_400_001, 1e300])
    await expect(watching(everyMs)).rejects.toMatchObject({
      code: "CONNECTION_INVALID",
      data: { field: "everyMs" },
    });
  expect(await watching(86_400_000)).toMatchObject({ type: "watch" });
});

/** Has the next look wait for its answer. */
function holdUp(board: { wait?: () => Promise<void> }) {
  const [asked, answered] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  board.wait = async () => {
    asked.resolve();
    await answered.promise;
  };
  return { asked, answered };
}

test("a worker that meets the look of another one does not put the next look off", async () => {
  const { watch, board, looked, news, pass } = await startWatching(undefined, "stateless");
  await watch();
  const { asked, answered } = holdUp(board);
  // Nobody has looked for some minutes.
  pass(240_000);
  const looking = looked();
  await asked.promise;
  expect(await looked()).toMatchObject([{ call: { state: "answering" } }]);
  answered.resolve();
  await looking;
  board.text = "B";
  pass();
  await looked();
  expect(texts(await news())).toEqual(["B"]);
});

const newsIn = async (store: SessionStore) => {
  const { records } = await store.list({ limit: 100 });
  return records.filter(({ value }) => Object.hasOwn(value as object, "foundAt"));
};

test.each(bothStores)(
  "a sweep leaves news to their watch, which has looks, in %s",
  async (_, wrap) => {
    const watching = await startWatching((now) => wrap(createMemoryStore({ now })));
    const { watch, board, looked, news, pass, startProcess, store } = watching;
    await watch();
    await watch("chat", bob);
    const idleForMs = 3_600_000;
    const sweep = async () => (await startProcess().admin.sweep({ idleForMs })).waitingCalls;
    board.text = "B";
    pass();
    await looked();
    // The user is away, and a worker looks.
    pass(2 * idleForMs);
    await looked();
    expect(await sweep()).toBe(0);
    expect(texts(await news())).toEqual(["B"]);
    // Nobody looks, and only one user is there.
    pass(2 * idleForMs);
    await watch("chat", bob);
    await startProcess().run("chat", { principal: bob }, (run) => run.waiting.check());
    expect(await sweep()).toBe(1);
    expect(await newsIn(store)).toHaveLength(1);
    expect(texts(await news("chat", bob))).toEqual(["B"]);
  },
);

test("the end of a connection's sessions ends its watches with their news, whoever ends them", async () => {
  const { watch, board, looked, pass, startProcess, store, clock } = await startWatching();
  const ended = { ...use, connection: "notes" as never };
  const other = createDurableSessions({ connections: {}, store, now: clock });
  for (const sessions of [startProcess().admin, startProcess(), other, other.admin]) {
    await watch();
    board.text += "B";
    pass();
    await looked();
    expect(await newsIn(store)).toHaveLength(1);
    await sessions.end("chat", ended);
    expect(await newsIn(store)).toEqual([]);
  }
});

test("a session fetch on the chat's waiting calls leaves its watches to those who can ask", async () => {
  const { watch, board, looked, news, pass, store, clock, server } = await startWatching();
  await watch();
  board.text = "B";
  pass();
  const { url } = server;
  const own = { sessionId: "chat", principal: alice, connection: "notes", url, now: clock };
  expect(await checkWaitingCalls(createWaitingCalls({ store, ...own }))).toEqual([]);
  await looked();
  expect(texts(await news())).toEqual(["B"]);
});

test("while news wait for a step that fails, they are told ever more rarely, and as before after it", async () => {
  const { watch, board, looked, news, pass } = await startWatching();
  await watch();
  board.text = "B";
  const minutesOfLooks = async (minutes: number) => {
    const found: number[] = [];
    for (let minute = 1; minute <= minutes; minute += 1) {
      pass();
      if ((await looked()).length > 0) found.push(minute);
    }
    return found;
  };
  expect(await minutesOfLooks(20)).toEqual([1, 2, 3, 5, 9, 17]);
  board.text = "C";
  expect(await minutesOfLooks(15)).toEqual([13, 14, 15]);
  pass(7_200_000);
  await looked();
  expect(await minutesOfLooks(60)).toEqual([60]);
  expect(texts(await news())).toEqual(["B", "C"]);
  expect(await minutesOfLooks(3)).toEqual([1, 2, 3]);
});

test("a step that takes news during a look leaves none of them, and the next look is not late", async () => {
  const { watch, board, looked, news, pass, sessions } = await startWatching(
    undefined,
    "stateless",
  );
  await watch();
  board.text = "B";
  pass();
  await looked();
  pass(600_000);
  const { asked, answered } = holdUp(board);
  const looking = looked();
  await asked.promise;
  expect(texts(await news())).toEqual(["B"]);
  board.text = "C";
  answered.resolve();
  expect(await looking).toMatchObject([{ call: { state: "waiting", news: 0 } }]);
  expect(await sessions.waiting("chat", use)).toMatchObject([{ news: 0 }]);
  pass();
  expect(await looked()).toMatchObject([{ call: { news: 1 } }]);
  expect(texts(await news())).toEqual(["C"]);
});

test.each(["unwatch", "withdraw"] as const)("%s ends a watch during a look, too", async (how) => {
  const { watch, board, looked, news, pass, sessions, store } = await startWatching(
    undefined,
    "stateless",
  );
  const { id } = await watch();
  board.text = "B";
  pass();
  const { asked, answered } = holdUp(board);
  const looking = looked();
  await asked.promise;
  if (how === "withdraw") await sessions.withdraw("chat", id, use);
  else await sessions.run("chat", use, (run) => run.unwatch("notes", { resource }));
  answered.resolve();
  expect(await looking).toMatchObject([{ call: { state: "withdrawn" } }]);
  expect(await newsIn(store)).toEqual([]);
  expect(await news()).toEqual([]);
  expect(await sessions.waiting("chat", use)).toEqual([]);
});

test("a worker that meets the entry of a call before its record does not have it forgotten", async () => {
  const { watch, board, looked, pass, startProcess, store } = await startWatching();
  await watch();
  board.text = "B";
  pass();
  await looked();
  pass(7_200_000);
  await looked();
  let isMet = false;
  const slow: SessionStore = {
    ...store,
    async put(key, value, ...others) {
      if (!isMet && key.includes('"waiting/')) {
        isMet = true;
        pass();
        await looked();
      }
      return await store.put(key, value, ...others);
    },
  };
  await startProcess(slow).run("chat", use, (run) => run.waiting.news());
  expect(isMet).toBe(true);
  pass(120_000);
  expect(await looked()).toMatchObject([{ call: { news: 0 } }]);
});
