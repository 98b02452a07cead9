/** Fields that a later release has added to what this one reads, changes and writes back. */
import { createMemoryStore, type JsonValue, type SessionStore } from "@durable-mcp/core";
import { expect, test } from "vitest";
import { startProcess } from "../../test/durable-process.ts";
import { answer, startNotebookServer } from "../../test/notebook-server.ts";
import { alice, callTool, startApplication } from "../../test/step.ts";
import { defineMcpClientConnection } from "../connection/define-connection.ts";
import type { ConnectionRun } from "../run/connection-run.ts";

const ofAlice = { principal: alice };
const hint = { of: "a later release" };

/** Adds a field to the only record of a store, and to its snapshot. */
async function addHints(store: SessionStore): Promise<() => Promise<any>> {
  const { records } = await store.list({ limit: 2 });
  expect(records).toHaveLength(1);
  const [{ key, owner, value, revision }] = records as [(typeof records)[0]];
  const record = value as Record<string, JsonValue> & { snapshot: object };
  const snapshot = { ...record.snapshot, hint };
  await store.put(key, { ...record, snapshot, hint }, revision, { owner });
  return async () => (await store.get(key))?.value;
}

const startServer = () =>
  startNotebookServer({ setUp: (mcp) => mcp.registerTool("one", {}, () => answer("done")) });

test("survive a step that writes its session's record", async () => {
  const server = await startServer();
  const store = createMemoryStore();
  const { sessions } = startProcess(server, store);
  await sessions.run("chat", ofAlice, () => undefined);
  const stored = await addHints(store);
  await sessions.clearTools("chat", ofAlice);
  expect(await stored()).toMatchObject({ hint, snapshot: { kind: "session", hint } });
  expect((await stored()).snapshot).not.toHaveProperty("toolList");
  await sessions.run("chat", ofAlice, () => undefined);
  expect(await stored()).toMatchObject({ hint, snapshot: { hint, toolList: {} } });
});

test("survive a lost session, but for those of its snapshot", async () => {
  const server = await startServer();
  const store = createMemoryStore();
  const { sessions } = startProcess(server, store);
  await sessions.run("chat", ofAlice, () => undefined);
  const stored = await addHints(store);
  server.forgetSessions();
  await sessions.run("chat", ofAlice, async (run) => callTool(await run.tools(), "notes__one"));
  const { snapshot, ...record } = await stored();
  expect(record).toMatchObject({ hint });
  expect(snapshot.kind).toBe("session");
  expect(snapshot).not.toHaveProperty("hint");
  await sessions.restart("chat", ofAlice);
  expect(await stored()).toMatchObject({ hint, snapshot: { kind: "sessionless", lost: {} } });
});

const visit = (registry: ConnectionRun<any>) =>
  registry.named.run("research", (own) => own.tools({ connections: ["notes"] }));

test("survive the steps of a named session in a state", async () => {
  const server = await startServer();
  const application = startApplication({
    notes: defineMcpClientConnection({
      ...{ url: server.url, description: "A notebook.", session: "stateful" },
    }),
  });
  const first = await application.step({}, async ({ named }) => {
    await named.create("research", { connections: ["notes"] });
  });
  const { mcpSessions } = first.state as { mcpSessions: Record<string, any> };
  const [key] = Object.keys(mcpSessions) as [string];
  const entry = mcpSessions[key];
  const later = { ...entry, hint, snapshot: { ...entry.snapshot, hint } };
  const session = { state: { mcpSessions: { [key]: later } } };
  const after = async (use: Parameters<typeof application.step>[1]) =>
    ((await application.step(session, use)).state as any).mcpSessions[key];
  expect(await after(visit)).toMatchObject({ hint, snapshot: { kind: "session", hint } });
  const restarted = await after((registry) =>
    registry.named.run("research", (own) => own.restart("notes")),
  );
  expect(restarted).toMatchObject({ hint, snapshot: { kind: "sessionless", lost: {} } });
  server.forgetSessions();
  const recovered = await after((registry) =>
    registry.named.run("research", async (own) => callTool(await own.tools(), "notes__one")),
  );
  expect(recovered).toMatchObject({ hint, snapshot: { kind: "session" } });
  expect(recovered.snapshot).not.toHaveProperty("hint");
});
