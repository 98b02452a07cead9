import { createMemoryStore, type JsonValue } from "@durable-mcp/core";
import { describe, expect, test } from "vitest";
import { startProcess } from "../durable-process.ts";
import { createFaultyStore } from "@durable-mcp/testing";
import { startNotebookServer } from "../../../sessions/test/notebook-server.ts";
import { alice, callTool } from "../step.ts";

const use = { principal: alice };
const key = JSON.stringify(["default", "chat", "notes", "user", "https://idp.test", "alice"]);
const owner = JSON.stringify(["user", "https://idp.test", "alice"]);
const isTold = { "durable-mcp/sessionReplaced": true };

type Stored = Record<string, JsonValue> & { snapshot: Record<string, JsonValue> };

/** A chat with a session, whose record is then changed. */
async function startChat(change: (record: Stored) => JsonValue = (record) => record) {
  const server = await startNotebookServer();
  const store = createMemoryStore();
  await startProcess(server, store).sessions.run("chat", use, (run) => run.tools());
  const { value, revision } = (await store.get(key))!;
  await store.put(key, change(structuredClone(value) as Stored), revision, { owner });
  server.requests.length = 0;
  const held = createFaultyStore(store);
  return { server, store, held, ...startProcess(server, held.store) };
}

async function metadataOf(tools: any) {
  return ((await callTool(tools, "notes__list_notes")) as { _meta?: object })["_meta"];
}

const older = (record: Stored) => ({ ...record, version: 0 });
const newer = (record: Stored) => ({ ...record, version: 2, hint: "of a later release" });

describe("a record that does not parse", () => {
  test("is replaced: the model is told, and the old session is ended", async () => {
    const { sessions, server, types } = await startChat(older);
    const metadata = await sessions.run("chat", use, async (run) => metadataOf(await run.tools()));
    expect(metadata).toMatchObject(isTold);
    expect(types()).toEqual(["discarded", "recovered"]);
    expect(server.log).toContain("DELETE");
    expect(server.liveSessions()).toBe(1);
    expect((await sessions.list({ ...use, sessionId: "chat" })).sessions).toMatchObject([
      { kind: "session" },
    ]);
  });

  test("and names a URL that is not declared gets no request there", async () => {
    const elsewhere = await startNotebookServer();
    const { sessions, server } = await startChat((record) => ({
      ...older(record),
      snapshot: { ...record.snapshot, url: elsewhere.url },
    }));
    await sessions.run("chat", use, async (run) => metadataOf(await run.tools()));
    expect([...elsewhere.log, ...server.log]).not.toContain("DELETE");
    expect(elsewhere.requests).toEqual([]);
  });
});

describe("a record of a later release", () => {
  test("is shown, and neither ended nor swept; only endAll removes it", async () => {
    const { store, server, ...old } = await startChat(newer);
    const later = startProcess(server, store, { now: () => Date.now() + 1e10 });
    expect((await old.sessions.list({ ...use, sessionId: "chat" })).sessions).toMatchObject([
      { kind: "newer" },
    ]);
    const left = { connection: "notes", ended: false, reason: "newer", removed: false };
    expect(await old.sessions.restart("chat", use)).toMatchObject([left]);
    expect(await old.sessions.end("chat", use)).toMatchObject([left]);
    await old.sessions.clearTools("chat", use);
    expect(await later.sessions.admin.sweep({ idleForMs: 1e9 })).toEqual({
      sessions: [],
      waitingCalls: 0,
      more: false,
    });
    expect((await store.get(key))?.value).toMatchObject({ version: 2 });
    expect(await old.sessions.endAll(use)).toMatchObject([{ ...left, removed: true }]);
    expect(await store.get(key)).toBeUndefined();
  });

  test("that comes during a step stays, at the end and at a save", async () => {
    const { sessions, store, server, types } = await startChat();
    const upgrade = async () => {
      const { value, revision } = (await store.get(key))!;
      await store.put(key, newer(value as Stored), revision, { owner });
    };
    await sessions.run("chat", use, async (run) => {
      await upgrade();
      server.forgetSessions();
      await expect(run.call("notes", "list_notes")).rejects.toMatchObject({
        code: "STATE_INVALID",
      });
    });
    expect((await store.get(key))?.value).toMatchObject({ version: 2 });
    expect(types()).toContain("conflict");
    expect(server.liveSessions()).toBe(0);
  });
});
