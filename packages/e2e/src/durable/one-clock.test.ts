import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createMemoryStore, type SessionStore } from "@durable-mcp/core";
import { createSqliteStore } from "@durable-mcp/stores/sqlite";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type NotebookServer, startNotebookServer } from "../servers/notebook.ts";
import { callNotebook, createNotebookSessions, principal } from "./notebook-sessions.ts";

const minute = 60_000;
const day = 24 * 60 * minute;
const use = { principal };
const authorize = () => use;

let server: NotebookServer;
const folder = mkdtempSync(join(tmpdir(), "durable-mcp-clock-"));
beforeAll(async () => {
  server = await startNotebookServer();
});
afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true });
});

const stores: [string, () => SessionStore & { close?: () => Promise<void> }][] = [
  ["the memory store", () => createMemoryStore()],
  ["SQLite", () => createSqliteStore({ path: join(folder, `${crypto.randomUUID()}.db`) })],
];

const add = ({ tools }: { tools: object }) => callNotebook(tools, "add_note", { text: "a" });

describe.each(stores)("on %s", (_, open) => {
  test.each([3, -3])("sessions whose clock is %i days ahead of the store's", async (days) => {
    const time = { now: Date.now() + days * day };
    const store = open();
    const { sessions } = createNotebookSessions({
      ...{ url: server.url, store, now: () => time.now, clockSkewMs: 0 },
    });
    await sessions.run("chat", use, add);
    const startedAt = time.now;
    expect((await sessions.list({ ...use, sessionId: "chat" })).sessions).toMatchObject([
      { lastUsedAt: startedAt, startedAt },
    ]);
    time.now += 5 * minute;
    await sessions.run("other", use, add);
    const sweep = async () =>
      (await sessions.admin.sweep({ idleForMs: 10 * minute, authorize })).sessions;
    expect(await sweep()).toEqual([]);
    time.now += 5 * minute;
    expect(await sweep()).toMatchObject([{ sessionId: "chat", ended: true, removed: true }]);
    time.now += 5 * minute;
    expect(await sweep()).toMatchObject([{ sessionId: "other", ended: true, removed: true }]);
    await store.close?.();
  });
});
