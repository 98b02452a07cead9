/** Sessions that no framework's package dresses. */
import { createMemoryStore } from "@durable-mcp/core";
import { expect, test } from "vitest";
import { startNotebookServer } from "../../../sessions/test/notebook-server.ts";
import { alice as principal } from "../step.ts";
import { defineMcpClientConnection } from "../../src/index.ts";
import { createDurableSessions } from "../../../sessions/src/create/create-durable-sessions.ts";

const onEvent = () => undefined;

async function start(options: { readonly required?: boolean } = {}) {
  const server = await startNotebookServer();
  const session = "stateful" as const;
  const connections = {
    notes: defineMcpClientConnection({ url: server.url, description: "Notes.", session }),
    down: defineMcpClientConnection({
      ...{ url: "http://127.0.0.1:9/mcp", description: "Down.", ...options },
    }),
  };
  const store = createMemoryStore();
  return { server, sessions: createDurableSessions({ connections, store, onEvent }) };
}

test("they have calls and clients, and go on in the next step", async () => {
  const { server, sessions } = await start();
  const add = (text: string) =>
    sessions.run("chat", { principal }, async (run) => {
      expect(run).not.toHaveProperty("tools");
      expect(run.waiting).not.toHaveProperty("resume");
      await run.call("notes", "add_note", { text });
      const client = await run.client("notes");
      return client.initializeResult.protocolVersion;
    });
  await add("first");
  expect(await add("second")).toBe("2025-11-25");
  const methods = server.requests.flatMap(({ message }) => message?.method ?? []);
  const calls = methods.filter((method) => method === "tools/call");
  expect([methods.filter((method) => method === "initialize"), calls]).toEqual([
    ["initialize"],
    ["tools/call", "tools/call"],
  ]);
});

test("a required connection is connected first, and any one with throw", async () => {
  const { sessions } = await start({ required: true });
  const unavailable = { code: "CONNECTION_UNAVAILABLE", data: { connection: "down" } };
  await expect(sessions.open("chat", { principal })).rejects.toMatchObject(unavailable);
  const other = await start();
  const use = { principal, onUnavailable: "throw" } as const;
  await expect(other.sessions.open("chat", use)).rejects.toMatchObject(unavailable);
  await (await other.sessions.open("chat", { principal })).dispose();
});
