import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { McpClientConnectionOptions } from "@durable-mcp/ai-sdk";
import type { SessionStore } from "@durable-mcp/core";
import { createSqliteStore } from "@durable-mcp/stores/sqlite";
import type { ToolSet } from "ai";
import { onTestFinished } from "vitest";
import { startAskingServer } from "../../sessions/test/asking-server.ts";
import { startProcess } from "../../ai-sdk/test/durable-process.ts";
import { startNotebookServer } from "../../sessions/test/notebook-server.ts";
import { alice, bob, callForText } from "../../ai-sdk/test/step.ts";

export const addNote = (tools: object, text: string) =>
  callForText(tools as ToolSet, "notes__add_note", { text });

/** A path in a folder that is gone after the test. */
export function temporaryFile(name: string): string {
  const folder = mkdtempSync(join(tmpdir(), "durable-mcp-cli-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, name);
}

/** The store of an application, in a SQLite file. */
export function openFile(now?: () => number) {
  const path = temporaryFile("sessions.db");
  const store = createSqliteStore({ path, now });
  onTestFinished(() => store.close());
  return { store, path, address: `sqlite:${path}` };
}

/** An application with a notebook, in which alice and bob have a session each. */
export async function startApplication(
  wrap: (store: SessionStore) => SessionStore = (store) => store,
  options: Parameters<typeof startProcess>[2] = {},
) {
  const server = await startNotebookServer();
  const file = openFile(options.now);
  const process = startProcess(server, wrap(file.store), options);
  await process.sessions.run("chat-of-alice", { principal: alice }, async (run) =>
    addNote(await run.tools(), "a"),
  );
  await process.sessions.run("chat-of-bob", { principal: bob }, async (run) =>
    addNote(await run.tools(), "b"),
  );
  server.requests.length = 0;
  return { ...file, ...process, server, origin: new URL(server.url).origin };
}

/** An application with a shop, in which a call of alice waits. */
export async function startShop(
  options: Parameters<typeof startAskingServer>[0] = {},
  tool: "order" | "order_twice" = "order",
  waiting: McpClientConnectionOptions["waiting"] = true,
) {
  const server = await startAskingServer(options);
  const file = openFile();
  const { sessions } = startProcess(server, file.store, {
    connection: { session: undefined, waiting },
  });
  const [call] = await sessions.run("chat-of-alice", { principal: alice }, async (run) => {
    await callForText(await run.tools(), `notes__${tool}`, { item: "an oolong" });
    return await sessions.waiting("chat-of-alice", { principal: alice });
  });
  return { ...file, sessions, server, origin: new URL(server.url).origin, call: call! };
}
