import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Principal } from "@durable-mcp/ai-sdk";
import { encryptStore } from "@durable-mcp/core/sealing";
import { createSqliteStore } from "@durable-mcp/stores/sqlite";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type NotebookServer, startNotebookServer } from "../servers/notebook.ts";
import { callNotebook, createNotebookSessions, principal as alice } from "./notebook-sessions.ts";

const bob: Principal = { type: "user", issuer: "https://idp.test", id: "bob" };
const listNotes = (tools: object) => callNotebook(tools, "list_notes");
const hour = 3_600_000;
const randomKey = () => crypto.getRandomValues(new Uint8Array(32));

let server: NotebookServer;
let folder: string;
beforeAll(async () => {
  server = await startNotebookServer();
  folder = mkdtempSync(join(tmpdir(), "durable-mcp-unreadable-"));
});
afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true });
});

/** A file with a chat of each of two users, both long idle. Alice's cannot be read. */
async function startWithPoison(text: string) {
  const { url } = server;
  const path = join(folder, `${crypto.randomUUID()}.db`);
  const unreadable: unknown[] = [];
  const onUnreadable = (reason?: unknown) => void unreadable.push(reason);
  const sqlite = createSqliteStore({ path, onUnreadable });
  const fingerprintKey = randomKey();
  const encrypted = (current: Uint8Array, previous?: Uint8Array) =>
    encryptStore(sqlite, { keys: { current, previous }, fingerprintKey, onUnreadable });
  const [ofAlice, ofBob] = [randomKey(), randomKey()];
  const isEncrypted = text === "another key";

  for (const [principal, key] of [
    [alice, ofAlice],
    [bob, ofBob],
  ] as const) {
    const { sessions } = createNotebookSessions({
      url,
      store: isEncrypted ? encrypted(key) : sqlite,
    });
    await sessions.run("chat", { principal }, ({ tools }) =>
      callNotebook(tools, "add_note", { text: "before" }),
    );
  }
  const database = new DatabaseSync(path);
  if (!isEncrypted) {
    database.prepare("UPDATE mcp_sessions SET value = ? WHERE key LIKE '%alice%'").run(text);
  }
  const age = () => database.exec(`UPDATE mcp_sessions SET last_used_at = ${Date.now() - hour}`);
  age();
  const count = () => database.prepare("SELECT key FROM mcp_sessions").all().length;
  const store = isEncrypted ? encrypted(ofBob) : sqlite;
  const close = async () => {
    database.close();
    await sqlite.close();
  };
  return { ...createNotebookSessions({ url, store }), unreadable, age, count, close };
}

describe.each([
  ["cut short", '{"version":1,"snapshot":{"version":1,"kind":"session","sessionId":"secret-of-al'],
  ["JSON of something else", '["secret-of-alice"]'],
  ["sealed with a key that is gone", "another key"],
])("a stored value that is %s", (_, text) => {
  test("disturbs nobody else, and is replaced by its own chat", async () => {
    const { sessions, events, unreadable, close } = await startWithPoison(text);
    expect(await sessions.run("chat", { principal: bob }, ({ tools }) => listNotes(tools))).toBe(
      "before",
    );
    const listed = await sessions.list({ principal: bob });
    expect(listed.sessions).toMatchObject([{ kind: "session" }]);
    const all = (await sessions.admin.list()).sessions;
    expect(all.map(({ kind }) => kind).toSorted()).toEqual(["invalid", "session"]);

    expect(events).not.toContain("discarded");
    const listInChat = () =>
      sessions.run("chat", { principal: alice }, ({ tools }) => listNotes(tools));
    expect(await listInChat()).toBe("");
    expect(events).toContain("discarded");
    expect((await sessions.list({ principal: alice, sessionId: "chat" })).sessions).toMatchObject([
      { kind: "session" },
    ]);
    expect(unreadable.length > 0).toBe(!text.startsWith("["));
    await close();
  });

  test("goes with a sweep, with endAll and with the end of its chat", async () => {
    for (const remove of ["sweep", "endAll", "end"] as const) {
      const { sessions, count, close } = await startWithPoison(text);
      if (remove === "sweep") await sessions.admin.sweep({ idleForMs: hour / 2 });
      else if (remove === "endAll") await sessions.endAll({ principal: alice });
      else await sessions.end("chat", { principal: alice });
      expect(count()).toBe(remove === "sweep" ? 0 : 1);
      expect((await sessions.list({ principal: alice, sessionId: "chat" })).sessions).toEqual([]);
      await close();
    }
  });
});
