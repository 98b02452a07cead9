import { createMemoryStore, type SessionStore } from "@durable-mcp/core";
import { describe, expect, test } from "vitest";
import { bothStores } from "../../../sessions/test/both-stores.ts";
import { type ProcessOptions, startStored } from "../durable-process.ts";
import { createFaultyStore } from "@durable-mcp/testing";
import { on, startNotebookServer } from "../../../sessions/test/notebook-server.ts";
import { notebook } from "../saved-session.ts";
import { alice, callTool, openAndList } from "../step.ts";
import { createDurableSessions, type SessionOwner } from "../../src/index.ts";

const use = { principal: alice };
const chat = { sessionId: "chat", connection: "notes" };
const hour = 3_600_000;

/** A chat of alice's with a session without a name, and two with one. */
async function startNamed(
  options: ProcessOptions = {},
  wrap: (store: SessionStore) => SessionStore = (store) => store,
) {
  const process = await startStored(options, wrap);
  const add = (name: string, idleTimeoutMs?: number) =>
    process.sessions.run("chat", use, async (run) => {
      await run.named.create(name, { idleTimeoutMs });
      await run.named.run(name, async (own) => {
        await own.call("notes", "add_note", { text: name });
        await own.tools();
      });
    });
  await add("a");
  await add("b");
  process.server.requests.length = 0;
  return { add, ...process };
}

const authorize = ({ principal }: SessionOwner) => principal && { principal };
const namesOf = (sessions: readonly { name?: string | undefined }[]) =>
  sessions.map(({ name }) => name ?? "-").toSorted();

describe.each(bothStores)("named sessions in %s", (_, wrap) => {
  test("are told of in lists of all agent sessions, by name too, and without ids", async () => {
    const { sessions, server } = await startNamed({}, wrap);
    expect(namesOf((await sessions.list(use)).sessions)).toEqual(["a", "b"]);
    expect(namesOf((await sessions.list({ ...use, name: "a" })).sessions)).toEqual(["a"]);
    expect(namesOf((await sessions.admin.list({ name: "a" })).sessions)).toEqual(["a"]);
    const all = JSON.stringify([await sessions.list(use), await sessions.admin.list()]);
    for (const id of server.sessionIds) expect(all).not.toContain(id);
    for (const refused of [
      sessions.admin.list({ name: "" }),
      sessions.admin.sweep({ idleForMs: hour, name: "" }),
    ]) {
      const error = { code: "CONNECTION_INVALID", data: { field: "name" } };
      await expect(refused).rejects.toMatchObject(error);
    }
  });

  test("are swept by name, past all others that are idle", async () => {
    const { sessions, server, pass } = await startNamed({}, wrap);
    for (const id of ["1", "2", "3"]) await sessions.run(id, use, (run) => run.tools());
    pass(hour);
    const asked: (string | undefined)[] = [];
    const swept = await sessions.admin.sweep({
      idleForMs: hour,
      name: "b",
      limit: 1,
      authorize: ({ name }) => {
        asked.push(name);
        return { principal: alice };
      },
    });
    expect(swept.sessions).toMatchObject([{ ...chat, name: "b", ended: true, removed: true }]);
    expect(asked).toEqual(["b"]);
    expect(server.liveSessions()).toBe(4);
    const rest = await sessions.admin.sweep({ idleForMs: hour });
    expect(namesOf(rest.sessions)).toEqual(["-", "-", "-", "a"]);
    expect(rest.more).toBe(false);
    const none = await sessions.admin.sweep({ idleForMs: hour, name: "b" });
    expect(none).toEqual({ sessions: [], waitingCalls: 0, more: false });
  });
});

describe("an idle time-out over several processes", () => {
  test("does not end what another process has open", async () => {
    const touchIntervalMs = 20;
    const { sessions, server, add, held, pass, startAnother } = await startNamed({
      touchIntervalMs,
    });
    const idleTimeoutMs = hour;
    await add("c", idleTimeoutMs);
    const lease = await openAndList(sessions, "chat", use);
    await lease.named.run("c", async (own) => {
      pass(idleTimeoutMs);
      held.log.length = 0;
      await expect
        .poll(() => held.log.filter((operation) => operation === "touch").length > 5, {
          timeout: 10_000,
        })
        .toBe(true);
      const other = startAnother();
      expect((await other.sessions.admin.sweep({ authorize: () => use })).sessions).toEqual([]);
      await other.sessions.run("chat", use, async (run) => {
        expect(await run.named.find("c")).toMatchObject({ connections: [{ kind: "session" }] });
        await run.named.run("c", async (same) => {
          const result: any = await same.call("notes", "list_notes");
          expect(result.content[0].text).toBe("c");
        });
      });
      await own.call("notes", "add_note", { text: "d" });
    });
    await lease.dispose();
    expect(server.log).not.toContain("DELETE");
  });

  test("is up in a sweep, which ends the session, keeps the name and tells the model", async () => {
    const { sessions, server, add, pass } = await startNamed();
    await add("c", hour);
    const [, , ended] = server.sessionIds;
    const { admin } = sessions;
    pass(hour - 1);
    expect((await admin.sweep({ authorize })).sessions).toEqual([]);
    pass(1);
    server.requests.length = 0;
    expect((await admin.sweep({ authorize })).sessions).toMatchObject([
      { ...chat, name: "c", ended: true, removed: false },
    ]);
    expect(server.requests.map(({ headers }) => headers["mcp-session-id"])).toEqual([ended]);
    expect(await admin.sweep({ authorize })).toEqual({
      sessions: [],
      waitingCalls: 0,
      more: false,
    });
    await sessions.run("chat", use, (run) =>
      run.named.run("c", async (own) => {
        const result: any = await callTool(await own.tools(), "notes__list_notes");
        expect(result["_meta"]).toHaveProperty("durable-mcp/sessionReplaced");
      }),
    );
  });

  test("is up, but a session that the server does not end is replaced all the same", async () => {
    const { sessions, server, add, pass } = await startNamed();
    await add("c", hour);
    pass(hour);
    server.intercept(on("DELETE", (_, response) => void response.writeHead(500).end()));
    const { sessions: swept } = await sessions.admin.sweep({ authorize: () => use });
    expect(swept).toMatchObject([{ name: "c", ended: false, reason: "refused", removed: false }]);
    const result: any = await sessions.run("chat", use, (run) =>
      run.named.run("c", (own) => own.call("notes", "list_notes")),
    );
    expect(result.content[0].text).toBe("");
  });
});

test("a session that is opened when the step is over is not used", async () => {
  const server = await startNotebookServer();
  const held = createFaultyStore(createMemoryStore());
  const sessions = createDurableSessions({
    connections: { notes: notebook(server) },
    store: held.store,
    onEvent: () => undefined,
  });
  await sessions.run("chat", use, (run) => run.named.create("a"));
  const lease = await openAndList(sessions, "chat", use);
  const reached = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  held.before("get", async () => {
    reached.resolve();
    await released.promise;
  });
  const opening = Promise.allSettled([lease.named.run("a", (run) => run.tools())]);
  await reached.promise;
  await lease.dispose();
  released.resolve();
  expect(await opening).toMatchObject([{ reason: { code: "CONNECTION_UNAVAILABLE" } }]);
  held.heal();
  await sessions.run("chat", use, (run) =>
    run.named.run("a", (own) => own.call("notes", "list_notes")),
  );
  await sessions.shutdown();
});
