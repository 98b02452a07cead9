import { createMCPClient } from "@ai-sdk/mcp";
import { createMemoryStore, type SessionStore } from "@durable-mcp/core";
import { encryptStore } from "@durable-mcp/core/sealing";
import { createDrivenStore } from "@durable-mcp/core/store-driver";
import { asSchema, type ToolSet } from "ai";
import { expect, test, vi } from "vitest";
import { createMapDriver } from "../../../core/test/map-driver.ts";
import { startProcess } from "../durable-process.ts";
import {
  type NotebookServer,
  on,
  startNotebookServer,
} from "../../../sessions/test/notebook-server.ts";
import { alice, callForText, startApplication } from "../step.ts";
import { defineMcpClientConnection } from "../../src/index.ts";
import { sendJson } from "../../../core/test/http-server.ts";

/** A notebook with so many tools more, of about `size` characters each. */
async function startLongServer(count: number, size: number): Promise<NotebookServer> {
  const server = await startNotebookServer();
  const more = Array.from({ length: count }, (_, n) => ({
    ...{ name: `read_${n}`, title: `Read ${n}`, description: "x".repeat(size - 200) },
    inputSchema: { type: "object", properties: { id: { type: "string" } }, required: ["id"] },
    annotations: { readOnlyHint: true },
  }));
  const own = { name: "list_notes", description: "Lists.", inputSchema: { type: "object" } };
  const tools = [...more, own];
  server.intercept(
    on("tools/list", ({ message }, response) =>
      sendJson(response, 200, { jsonrpc: "2.0", id: message.id, result: { tools } }),
    ),
  );
  return server;
}

/** One step: takes the tools, and calls one. Gives the tools, and what was sent. */
async function takeStep(server: NotebookServer, store: SessionStore) {
  server.requests.length = 0;
  const { sessions, types } = startProcess(server, store);
  const tools = await sessions.run("chat", { principal: alice }, async (run) => {
    const own = await run.tools();
    expect(await callForText(own, "notes__list_notes")).toBe("");
    return own;
  });
  return { tools, types: types(), log: server.log };
}

/** What a model, and a person, are shown of tools. */
const shown = async (tools: ToolSet) =>
  await Promise.all(
    Object.entries(tools).map(async ([name, { description, title, metadata, inputSchema }]) => ({
      name: name.replace("notes__", ""),
      ...{ description, title },
      schema: await asSchema(inputSchema).jsonSchema,
      annotations: metadata?.["annotations"],
    })),
  );

const key = "x".repeat(43);

test.each<[string, () => SessionStore]>([
  ["a store", () => createMemoryStore()],
  [
    "an encrypted store",
    () => encryptStore(createMemoryStore(), { keys: { current: key }, fingerprintKey: key }),
  ],
])("%s keeps a list of 1,000 tools, and a resumed step makes one request", async (_, create) => {
  const server = await startLongServer(1_000, 700);
  const store = create();
  await takeStep(server, store);
  const { tools, types, log } = await takeStep(server, store);
  expect(log).toEqual(["POST tools/call"]);
  expect(types).toEqual(["resumed"]);
  const bare = await createMCPClient({ transport: { type: "http", url: server.url } });
  expect(await shown(tools)).toEqual(await shown((await bare.tools()) as ToolSet));
  await bare.close();
});

test("a list beyond the bound of a store is asked for in each step", async () => {
  const server = await startLongServer(1_000, 1_000);
  const store = createMemoryStore();
  await takeStep(server, store);
  const { tools, types, log } = await takeStep(server, store);
  expect(log).toEqual(["POST tools/list", "POST tools/call"]);
  expect(types).toEqual(["resumed"]);
  expect(Object.keys(tools)).toHaveLength(1_001);
});

test("a list that a store has no room for is told of in each step, and written in none", async () => {
  const server = await startLongServer(100, 500);
  const store = createDrivenStore(createMapDriver(20_000));
  await takeStep(server, store);
  const put = vi.spyOn(store, "put");
  const { types, log } = await takeStep(server, store);
  expect(log).toEqual(["POST tools/list", "POST tools/call"]);
  expect(types).toEqual(["resumed", "not-kept"]);
  // The one that the store refused.
  expect(put).toHaveBeenCalledTimes(1);
});

test("a state that the application carries does not grow by a long list", async () => {
  const server = await startLongServer(1_000, 700);
  const { url } = server;
  const notes = defineMcpClientConnection({ url, description: "Notes.", session: "stateful" });
  const { step } = startApplication({ notes });
  const session = await step({}, async (run) => {
    expect(Object.keys(await run.tools())).toHaveLength(1_001);
  });
  expect(JSON.stringify(session).length).toBeLessThan(2_000);
});

test("the application's own use of the client is given the tools", async () => {
  const server = await startLongServer(10, 300);
  const { sessions } = startProcess(server, createMemoryStore());
  await sessions.run("chat", { principal: alice }, async (run) => {
    await run.tools();
    const client = await run.client("notes");
    expect((await client.listTools()).tools).toHaveLength(11);
    expect(Object.keys(await client.tools())).toHaveLength(11);
  });
});

test("a session that is lost between two steps is listed anew, once", async () => {
  const server = await startLongServer(1_000, 1_000);
  const store = createMemoryStore();
  await takeStep(server, store);
  server.forgetSessions();
  const { tools, log } = await takeStep(server, store);
  expect(log.filter((each) => each === "POST tools/list")).toHaveLength(2);
  expect(Object.keys(tools)).toHaveLength(1_001);
});
