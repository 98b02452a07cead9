import { createMemoryStore } from "@durable-mcp/core";
import { describe, expect, test } from "vitest";
import { add, list } from "../agent-session.ts";
import { startProcess, startStored } from "../durable-process.ts";
import { createFaultyStore } from "@durable-mcp/testing";
import { on, startNotebookServer } from "../../../sessions/test/notebook-server.ts";
import { alice, outdateTools, openAndList } from "../step.ts";

const use = { principal: alice };
const key = JSON.stringify(["default", "chat", "notes", "user", "https://idp.test", "alice"]);
const owner = JSON.stringify(["user", "https://idp.test", "alice"]);

const onlyConflicts = async () => ({ ok: false, current: undefined }) as const;

/** Lets everybody through when `count` have arrived. */
function barrier(count: number): () => Promise<void> {
  const open = Promise.withResolvers<void>();
  let arrived = 0;
  return () => {
    arrived += 1;
    if (arrived === count) open.resolve();
    return open.promise;
  };
}

describe("two openers", () => {
  test("end with one session when both open it first", async () => {
    const server = await startNotebookServer();
    const store = createMemoryStore();
    const meet = barrier(2);
    const processes = [1, 2].map(() => {
      const held = createFaultyStore(store);
      let puts = 0;
      held.before("put", () => {
        puts += 1;
        return puts === 1 ? meet() : undefined;
      });
      return startProcess(server, held.store);
    });
    const counts = await Promise.all(
      processes.map(({ sessions }) => sessions.run("chat", use, add("x"))),
    );
    expect(counts.toSorted()).toEqual(["1 notes", "2 notes"]);
    expect(server.sessionIds).toHaveLength(2);
    expect(server.liveSessions()).toBe(1);
    const types = processes.map((process) => process.types());
    expect(types.filter((each) => each.includes("adopted"))).toHaveLength(1);
    const events = JSON.stringify(processes.map((process) => process.events));
    for (const id of [...server.sessionIds, "alice"]) expect(events).not.toContain(id);
  });

  test("end with one session when both find it lost", async () => {
    const server = await startNotebookServer();
    const store = createMemoryStore();
    await startProcess(server, store).sessions.run("chat", use, add("x"));
    server.forgetSessions();
    const meet = barrier(2);
    const results = await Promise.all(
      [1, 2].map(async () => {
        const held = createFaultyStore(store);
        const { sessions } = startProcess(server, held.store);
        return await sessions.run("chat", use, async (run) => {
          held.before("put", meet);
          const result = await add("x")(run);
          held.heal();
          return result;
        });
      }),
    );
    expect(results.toSorted()).toEqual(["1 notes", "2 notes"]);
    expect(server.sessionIds).toHaveLength(3);
    expect(server.liveSessions()).toBe(1);
  });

  test("go on in the winner's session when the loser's cannot be ended", async () => {
    const server = await startNotebookServer();
    server.intercept(on("DELETE", (_, response) => void response.writeHead(500).end()));
    const store = createMemoryStore();
    const held = createFaultyStore(store);
    held.before("put", async () => {
      held.heal();
      await startProcess(server, store).sessions.run("chat", use, add("x"));
    });
    const loser = startProcess(server, held.store);
    expect(await loser.sessions.run("chat", use, list)).toBe("x");
    expect(loser.events).toContainEqual({
      type: "not-ended",
      connection: "notes",
      reason: "refused",
      status: 500,
    });
  });

  test("do not adopt the session that was just lost", async () => {
    const { server, store, ...first } = await startStored();
    const lease = await openAndList(first.sessions, "chat", use);
    // Another process writes the same session again, as a step that ends does.
    const stored = (await store.get(key))!;
    await store.put(key, { ...(stored.value as object), savedAt: 1 }, stored.revision, { owner });
    server.forgetSessions();
    expect(await add("new")(lease)).toBe("1 notes");
    await lease.dispose();
    expect(first.types()).not.toContain("adopted");
    const next = startProcess(server, store);
    expect(await next.sessions.run("chat", use, list)).toBe("new");
    expect(server.sessionIds).toHaveLength(2);
  });

  test.each([
    ["lost", { kind: "sessionless", lost: {} }],
    ["sessionless", { kind: "sessionless" }],
    ["stateless", { kind: "stateless", decidedAt: 1 }],
  ])("do not adopt a record that says %s", async (_, kind) => {
    const server = await startNotebookServer();
    const store = createMemoryStore();
    const held = createFaultyStore(store);
    held.before("put", async () => {
      held.heal();
      const snapshot = { version: 1, url: server.url, ...kind };
      const record = { version: 1, snapshot, startedAt: 1, savedAt: 1 };
      await store.put(key, record, null, { owner });
    });
    const { sessions, types } = startProcess(server, held.store);
    await sessions.run("chat", use, add("mine"));
    expect(types()).toEqual(["started"]);
    const found = await startProcess(server, store).sessions.run("chat", use, list);
    expect(found).toBe("mine");
  });

  test("a record that was removed meanwhile is written anew", async () => {
    const { server, store, sessions } = await startStored();
    await sessions.run("chat", use, async (run) => {
      await store.delete(key);
      server.forgetSessions();
      await add("again")(run);
    });
    expect(await sessions.run("chat", use, list)).toBe("again");
  });

  test.each([
    // Of the store: a put is done and reported as failed. The read after it says so.
    { readsToo: false, first: "1 notes", second: "2 notes", made: 2 },
    // Nobody can tell, so the session is ended, and the next call has another.
    { readsToo: true, first: "STORE_FAILED", second: "1 notes", made: 3 },
  ])(
    "a save that was done and reported as failed, and no read: $readsToo",
    async ({ readsToo, first, second, made }) => {
      const server = await startNotebookServer();
      const faulty = createFaultyStore(createMemoryStore());
      const { sessions, types } = startProcess(server, faulty.store);
      await sessions.run("chat", use, async (run) => {
        await run.tools();
        server.forgetSessions();
        faulty.meet("put", async (operate) => {
          await operate();
          if (readsToo) faulty.fail("get", "getMany");
          throw new Error("no answer");
        });
        expect(await add("one")(run).catch(({ code }) => code)).toBe(first);
        faulty.heal();
        expect(await add("two")(run)).toBe(second);
      });
      expect(types()).not.toContain("adopted");
      expect(server.sessionIds).toHaveLength(made);
      expect(server.liveSessions()).toBe(1);
    },
  );

  test("a store that only reports conflicts fails the save", async () => {
    const server = await startNotebookServer();
    const store = createMemoryStore();
    const { sessions } = startProcess(server, { ...store, put: onlyConflicts });
    await expect(openAndList(sessions, "chat", use)).rejects.toMatchObject({
      code: "STORE_FAILED",
    });
    expect(server.liveSessions()).toBe(0);
  });
});

describe("the end of a step", () => {
  test("keeps what another process made of the same session", async () => {
    const { server, store, ...first } = await startStored();
    const second = startProcess(server, store);
    await first.sessions.run("chat", use, (run) => run.tools());
    const lease = await openAndList(first.sessions, "chat", use);
    await second.sessions.clearTools("chat", use);
    const other = await openAndList(second.sessions, "chat", use); // lists the tools anew
    await lease.dispose();
    await other.dispose();
    expect((await first.sessions.list({ ...use, sessionId: "chat" })).sessions).toMatchObject([
      { tools: { count: 4 } },
    ]);
    expect([...first.types(), ...second.types()]).not.toContain("conflict");
  });

  test("leaves a newer session alone, keeps the results, and says so", async () => {
    const { server, store, ...first } = await startStored();
    const lease = await openAndList(first.sessions, "chat", use);
    expect(await add("old")(lease)).toBe("1 notes");
    await outdateTools(lease);
    await store.delete(key);
    await startProcess(server, store).sessions.run("chat", use, add("newer"));
    await lease.dispose();
    expect(first.events).toContainEqual({
      type: "conflict",
      connection: "notes",
      stored: "newer-session",
    });
    const found = await startProcess(server, store).sessions.run("chat", use, list);
    expect(found).toBe("newer");
  });

  test("does not bring back what was ended meanwhile", async () => {
    const { server, store, sessions, events } = await startStored();
    const lease = await openAndList(sessions, "chat", use);
    await outdateTools(lease);
    await startProcess(server, store).sessions.end("chat", use);
    await lease.dispose();
    expect(events).toContainEqual({ type: "conflict", connection: "notes", stored: "nothing" });
    expect((await sessions.list({ ...use, sessionId: "chat" })).sessions).toEqual([]);
    expect(server.liveSessions()).toBe(0);
  });
});

describe("a session in use", () => {
  test("is written anew once per interval, and marked as used while it is held", async () => {
    const server = await startNotebookServer();
    let now = 1_000_000;
    const store = createMemoryStore({ now: () => now });
    const held = createFaultyStore(store);
    const { sessions } = startProcess(server, held.store, { touchIntervalMs: 50, now: () => now });
    await sessions.run("chat", use, (run) => run.tools());
    held.log.length = 0;
    await sessions.run("chat", use, (run) => run.tools());
    expect(held.log).toEqual(["get"]);
    now += 50;
    held.log.length = 0;
    const lease = await openAndList(sessions, "chat", use);
    // The last one looks for named sessions whose time is up, while the step runs.
    expect(held.log).toEqual(["get", "put"]);
    now += 20;
    await expect.poll(() => held.log).toContain("touch");
    expect((await sessions.list({ ...use, sessionId: "chat" })).sessions).toMatchObject([
      { lastUsedAt: now },
    ]);
    await lease.dispose();
    held.log.length = 0;
    await new Promise((resolve) => {
      setTimeout(resolve, 120);
    });
    expect(held.log).toEqual([]);
  });

  test("that cannot be marked is reported", async () => {
    const { held, sessions, events } = await startStored({ touchIntervalMs: 20 });
    const lease = await openAndList(sessions, "chat", use);
    held.fail("touch");
    await expect
      .poll(() => events)
      .toContainEqual(expect.objectContaining({ type: "store-failed", operation: "touch" }));
    held.heal();
    await lease.dispose();
  });
});
