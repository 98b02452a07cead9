import { describe, expect, test } from "vitest";
import { add, list } from "../agent-session.ts";
import { startProcess, startStored } from "../durable-process.ts";
import { on } from "../../../sessions/test/notebook-server.ts";
import { alice, bob } from "../step.ts";

const use = { principal: alice };
const chat = { sessionId: "chat", connection: "notes" };

async function startUsed(...chats: string[]) {
  const process = await startStored();
  for (const id of chats) {
    await process.sessions.run(id, use, add(id));
  }
  process.server.requests.length = 0;
  return process;
}

describe("info and list", () => {
  test("go page by page", async () => {
    const { sessions } = await startUsed("a", "b", "c");
    const first = await sessions.list({ ...use, limit: 2 });
    const second = await sessions.list({ ...use, limit: 2, cursor: first.cursor });
    const ids = [...first.sessions, ...second.sessions].map(({ sessionId = "-" }) => sessionId);
    expect(ids.toSorted()).toEqual(["a", "b", "c"]);
    expect(second.cursor).toBeUndefined();
  });

  test("see nothing of another agent", async () => {
    const { server, store, sessions } = await startUsed("chat");
    const { sessions: ofPlanner } = startProcess(server, store, { agent: "planner" });
    expect((await ofPlanner.list({ ...use, sessionId: "chat" })).sessions).toEqual([]);
    expect((await ofPlanner.list(use)).sessions).toEqual([]);
    expect((await sessions.list(use)).sessions).toHaveLength(1);
  });
});

describe("end", () => {
  test("that dies midway leaves the session to the next step", async () => {
    const { sessions, server, held, store } = await startUsed("chat");
    held.fail("delete");
    server.intercept(on("DELETE", (_, response) => void response.destroy()));
    await sessions.end("chat", use); // The record is claimed and the session is alive.
    server.intercept(() => "next");
    const next = startProcess(server, store);
    expect(await next.sessions.run("chat", use, list)).toBe("");
    expect(server.liveSessions()).toBe(1);
  });

  test("does not remove the session that a step has started meanwhile", async () => {
    const { sessions, server, held, store } = await startUsed("chat");
    held.before("delete", async () => {
      await startProcess(server, store).sessions.run("chat", use, add("new"));
    });
    expect(await sessions.end("chat", use)).toEqual([{ ...chat, ended: true, removed: false }]);
    expect(await sessions.run("chat", use, list)).toBe("new");
  });

  test("fails when the store does", async () => {
    const { sessions, held, server } = await startUsed("chat");
    held.fail("put");
    await expect(sessions.end("chat", use)).rejects.toMatchObject({ code: "STORE_FAILED" });
    expect(server.log).toEqual([]);
  });
});

describe("endAll", () => {
  test("says what it could not end also when somebody wrote the record meanwhile", async () => {
    const { sessions, server, store, held } = await startUsed("chat");
    server.intercept(on("DELETE", (_, response) => void response.writeHead(500).end()));
    held.before("delete", async () => {
      held.heal();
      const [record] = (await store.list({ limit: 1 })).records;
      // As a step does that had no more luck with ending it.
      const { ending: _, ...value } = record!.value as Record<string, any>;
      await store.put(record!.key, value, record!.revision, record!);
    });
    expect(await sessions.endAll(use)).toEqual([
      { ...chat, ended: false, removed: true, reason: "refused", status: 500 },
    ]);
    expect((await store.list({ limit: 1 })).records).toEqual([]);
  });

  test("ends and removes all of a principal, of all agents, and of nobody else", async () => {
    const { sessions, server, store } = await startUsed("chat", "other");
    await startProcess(server, store, { agent: "planner" }).sessions.run("x", use, (run) =>
      run.tools(),
    );
    await startProcess(server, store, { share: true }).sessions.run("x", use, (run) => run.tools());
    await sessions.run("chat", { principal: bob }, (run) => run.tools());
    const results = await sessions.endAll(use);
    expect(results).toHaveLength(4);
    for (const result of results) expect(result).toMatchObject({ ended: true, removed: true });
    expect(server.liveSessions()).toBe(1);
    const { records } = await store.list({ limit: 10 });
    expect(records.map(({ owner }) => owner)).toEqual(['["user","https://idp.test","bob"]']);
  });

  test("leaves records of something else alone", async () => {
    const { sessions, store } = await startUsed("chat");
    const owner = JSON.stringify(["user", "https://idp.test", "alice"]);
    await store.put("something else", 1, null, { owner });
    await sessions.endAll(use);
    expect((await store.list({ limit: 10 })).records).toMatchObject([{ key: "something else" }]);
  });
});
