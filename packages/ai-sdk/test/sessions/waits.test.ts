import { createMemoryStore, type SessionStore } from "@durable-mcp/core";
import { within } from "@durable-mcp/core/internal";
import { describe, expect, test } from "vitest";
import { type ProcessOptions, startProcess } from "../durable-process.ts";
import { createFaultyStore } from "@durable-mcp/testing";
import {
  type NotebookServer,
  on,
  startNotebookServer,
} from "../../../sessions/test/notebook-server.ts";
import { list, startNotebooks, touchIntervalMs } from "../agent-session.ts";
import { alice } from "../step.ts";
import { withConnections } from "../../src/index.ts";

// Every wait for a store or a server at the beginning and the end of a run ends, and ends with the
// caller. What hangs here hangs for ever.

const use = { principal: alice };
const hang = () => new Promise<never>(() => undefined);
const hangs = () => undefined;

/** Short, so that the tests are. The time of the store is longer than that of the server, as by default. */
const limits = { storeTimeoutMs: 700, closeTimeoutMs: 400 };
const connection = { timeouts: { connectMs: 500 } };
/** All that waits for these times at most is over by then, on a busy machine too. */
const soonMs = 3_500;
const slowly = () => new Promise<void>((resolve) => void setTimeout(resolve, 600));

type Held = ReturnType<typeof createFaultyStore>;

interface Stage {
  readonly server: NotebookServer;
  readonly store: SessionStore;
  readonly held: Held;
}

/** A chat with a session in use, whose next step starts in another process. */
async function startChat(options: ProcessOptions = {}) {
  const server = await startNotebookServer();
  const store = createMemoryStore();
  const held = createFaultyStore(store);
  const before = startProcess(server, store, options);
  await before.sessions.run("chat", use, (run) => run.tools());
  const process = startProcess(server, held.store, { ...limits, ...options });
  return { server, store, held, before, ...process };
}

/** How long something takes, in milliseconds, and its outcome. */
async function timed<T>(work: () => Promise<T>) {
  const start = performance.now();
  const [outcome] = await Promise.allSettled([work()]);
  return { ...outcome, ms: performance.now() - start };
}

const failed = { status: "rejected", reason: { code: "STORE_FAILED" } };

describe("a store that hangs at the beginning of a run fails it", () => {
  const cases: [string, (stage: Stage) => Promise<void> | void][] = [
    ["while the record is loaded", ({ held }) => held.before("get", hang)],
    [
      "while a new session is saved",
      async ({ server, store, held }) => {
        await startProcess(server, store).sessions.end("chat", use);
        held.before("put", hang);
      },
    ],
    [
      "while the successor of a lost session is saved",
      async ({ server, store, held }) => {
        await startProcess(server, store).sessions.clearTools("chat", use);
        server.forgetSessions();
        held.before("put", hang);
      },
    ],
  ];

  test.each(cases)("%s", async (_, prepare) => {
    const { sessions, types, ...stage } = await startChat({ connection });
    await prepare(stage);
    let isPaid = false;
    const { ms, ...outcome } = await timed(() =>
      sessions.run("chat", use, async (own) => {
        await own.tools();
        isPaid = true;
      }),
    );
    expect(outcome).toMatchObject(failed);
    expect(isPaid).toBe(false);
    expect(types()).not.toContain("unavailable");
    expect(ms).toBeLessThan(soonMs);
  });

  test("but not while the server hangs at the list before the save", async () => {
    const server = await startNotebookServer();
    server.intercept(on("tools/list", hangs));
    const { sessions, types } = startProcess(server, createMemoryStore(), {
      ...limits,
      connection,
    });
    await sessions.run("chat", use, (run) => run.tools());
    expect(types()).toEqual(["started", "unavailable"]);
    expect((await sessions.list({ ...use, sessionId: "chat" })).sessions).toMatchObject([
      { kind: "session" },
    ]);
    expect(server.liveSessions()).toBe(1);
  });

  test("while the record of a session in use is written anew", async () => {
    let time = Date.now();
    const { sessions, held } = await startChat({ now: () => time });
    time += 60_000;
    held.before("put", hang);
    await expect(sessions.run("chat", use, (run) => run.tools())).rejects.toMatchObject(
      failed.reason,
    );
  });
});

test("a server that is too slow for the list before the save is not taken for one that hangs", async () => {
  const server = await startNotebookServer();
  let lists = 0;
  const hangsOnce = () => {
    lists += 1;
    return lists > 1 ? ("next" as const) : undefined;
  };
  server.intercept(on("tools/list", hangsOnce));
  const { sessions, types } = startProcess(server, createMemoryStore(), { connection });
  expect(await sessions.run("chat", use, list)).toBe("");
  expect(types()).toEqual(["started"]);
  expect(lists).toBe(2);
});

test("a session whose save hangs in the middle of a run fails the call, not the server", async () => {
  const { sessions, server, held } = await startChat();
  const outcome = await sessions.run("chat", use, async (run) => {
    await run.tools();
    server.forgetSessions();
    held.before("put", hang);
    return (await timed(() => list(run))) as unknown;
  });
  expect(outcome).toMatchObject(failed);
  await expect.poll(() => server.liveSessions()).toBe(0);
});

describe("a store that is slow", () => {
  test("does not use up the time of the server", async () => {
    const server = await startNotebookServer();
    const held = createFaultyStore(createMemoryStore());
    held.before("put", slowly);
    const { sessions, types } = startProcess(server, held.store, { connection });
    expect(await sessions.run("chat", use, list)).toBe("");
    expect(types()).toEqual(["started"]);
  });

  test("does not use up the time of a listing that has met a loss", async () => {
    const { before, sessions, server, held } = await startChat({
      connection,
      storeTimeoutMs: 5_000,
    });
    await before.sessions.clearTools("chat", use);
    server.forgetSessions();
    held.before("put", slowly);
    expect(await sessions.run("chat", use, list)).toBe("");
  });
});

describe("a read that failed", () => {
  test("is tried once more, a write is not", async () => {
    const { sessions, held } = await startChat();
    let failures = 1;
    held.before("get", () => {
      failures -= 1;
      if (failures >= 0) throw new Error("The connection broke.");
    });
    expect(await sessions.run("chat", use, list)).toBe("");
    failures = 2;
    await expect(sessions.run("chat", use, (run) => run.tools())).rejects.toMatchObject({
      code: "STORE_FAILED",
      message: expect.not.stringContaining("may have been done"),
    });

    held.heal();
    held.log.length = 0;
    held.before("put", () => {
      throw new Error("The connection broke.");
    });
    await expect(sessions.restart("chat", use)).rejects.toMatchObject({
      code: "STORE_FAILED",
      message: expect.stringContaining("may have been done or not"),
    });
    expect(held.log).toEqual(["list", "put"]);
  });
});

test("a store that repeats a write of its own does not end the step's session", async () => {
  const server = await startNotebookServer();
  const store = createMemoryStore();
  // The first answer was lost, and the second attempt meets the first one.
  const put: SessionStore["put"] = async (...write) => {
    await store.put(...write);
    return await store.put(...write);
  };
  const { sessions, types } = startProcess(server, { ...store, put });
  expect(await sessions.run("chat", use, list)).toBe("");
  expect(server.log).not.toContain("DELETE");
  expect(types()).toEqual(["started"]);
  await sessions.run("chat", use, list);
  expect(server.sessionIds).toHaveLength(1);
});

describe("an abort ends the wait", () => {
  const cases: [string, (held: Held) => void][] = [
    ["for a record", (held) => held.before("get", hang)],
    ["for a record that is written anew", (held) => held.before("put", hang)],
  ];
  test.each(cases)("%s", async (_, prepare) => {
    let time = Date.now();
    const { sessions, held } = await startChat({
      now: () => time,
      storeTimeoutMs: 60_000,
      closeTimeoutMs: 60_000,
    });
    time += 60_000;
    prepare(held);
    const controller = new AbortController();
    const run = sessions.run("chat", { ...use, abortSignal: controller.signal }, (own) =>
      own.tools(),
    );
    await expect.poll(() => held.log.length).toBeGreaterThan(0);
    controller.abort(new Error("Enough."));
    await expect(run).rejects.toThrow("Enough.");
  });

  test("for named sessions", async () => {
    const { sessions, held } = await startChat({ storeTimeoutMs: 60_000 });
    const controller = new AbortController();
    const options = { ...use, abortSignal: controller.signal };
    const run = sessions.run("chat", options, async (own) => {
      held.before("list", hang);
      const outcomes = Promise.allSettled([own.named.list(), own.named.create("research")]);
      controller.abort(new Error("Enough."));
      return await outcomes;
    });
    for (const outcome of await run) expect(outcome).toMatchObject({ status: "rejected" });
  });
});

type Chat = Awaited<ReturnType<typeof startChat>>;

/** A change that the end of the step has to write. */
const changed = async ({ server, before }: Chat) => {
  await before.sessions.clearTools("chat", use);
  server.requests.length = 0;
};

/** The old session is still to be ended. */
const restarted = async ({ server, before }: Chat) => {
  server.intercept(on("DELETE", (_, response) => void response.writeHead(500).end()));
  await before.sessions.restart("chat", use);
};

describe("the end of a run has one deadline", () => {
  const cases: [string, (chat: Chat) => unknown, () => unknown][] = [
    [
      "with a store that hangs",
      async (chat) => {
        await changed(chat);
        chat.held.before("put", hang);
      },
      () => undefined,
    ],
    [
      "with a server that does not end the old session",
      async (chat) => {
        await restarted(chat);
        chat.server.intercept(on("DELETE", hangs));
      },
      () => undefined,
    ],
    [
      "with both",
      async (chat) => {
        await restarted(chat);
        chat.server.intercept(on("DELETE", hangs));
        let puts = 0;
        chat.held.before("put", () => {
          puts += 1;
          return puts > 1 ? hang() : undefined;
        });
      },
      () => undefined,
    ],
    [
      "with a server that does not end an isolated session",
      (chat) => chat.server.intercept(on("DELETE", hangs)),
      () => withConnections({ notes: "isolate" }, (own) => own.call("notes", "list_notes")),
    ],
    [
      "with a handshake that hangs",
      (chat) => chat.server.intercept(on("initialize", hangs)),
      () => {
        void withConnections({ notes: "isolate" }, (own) => own.call("notes", "list_notes")).catch(
          () => undefined,
        );
      },
    ],
  ];
  test.each(cases)("%s", async (_, prepare, step) => {
    const chat = await startChat();
    await prepare(chat);
    const { status, ms } = await timed(() =>
      chat.sessions.run("chat", use, async () => void (await step())),
    );
    expect(status).toBe("fulfilled");
    expect(ms).toBeLessThan(soonMs);
  });

  test("after which a write that hangs is reported", async () => {
    const chat = await startChat({ storeTimeoutMs: 60_000 });
    await changed(chat);
    chat.held.before("put", hang);
    await chat.sessions.run("chat", use, (run) => run.tools());
    // Both have the same deadline: the event may come a moment after the end.
    await expect
      .poll(() => chat.events)
      .toContainEqual({
        type: "store-failed",
        operation: "close",
        connection: "notes",
        error: expect.objectContaining({ code: "STORE_FAILED" }),
      });
  });

  test("and the write does not wait for the old session's end", async () => {
    const chat = await startChat({ closeTimeoutMs: 60_000 });
    await restarted(chat);
    const asked = Promise.withResolvers<void>();
    const answer = Promise.withResolvers<void>();
    chat.server.intercept(
      on("DELETE", async () => {
        asked.resolve();
        await answer.promise;
        return "next" as const;
      }),
    );
    const run = chat.sessions.run("chat", use, async (own) => {
      await own.tools();
      await asked.promise;
      chat.held.log.length = 0;
    });
    await expect.poll(() => chat.held.log, { timeout: soonMs }).toEqual(["put"]);
    answer.resolve();
    await run;
  });
});

describe("a run on a state", () => {
  test("does not wait for the end of another session, and shutdown does", async () => {
    const agent = await startNotebooks("carried state");
    const idleTimeoutMs = 3 * touchIntervalMs;
    await agent.step((registry) => registry.named.create("research", { idleTimeoutMs }));
    agent.pass(idleTimeoutMs);
    const asked = Promise.withResolvers<void>();
    const answer = Promise.withResolvers<void>();
    agent.server.intercept(
      on("DELETE", async () => {
        asked.resolve();
        await answer.promise;
        return "next" as const;
      }),
    );
    let isOver = false;
    await agent.step(
      async (registry) => {
        await registry.call("notes", "list_notes");
        await asked.promise;
      },
      {
        async exit(process) {
          isOver = true;
          const down = process.shutdown();
          expect(await within(20, down)).toBe(false);
          answer.resolve();
          await down;
        },
      },
    );
    expect(isOver).toBe(true);
    expect(agent.events).not.toContainEqual(expect.objectContaining({ type: "not-ended" }));
  });
});
