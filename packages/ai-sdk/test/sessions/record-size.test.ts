import { createMemoryStore } from "@durable-mcp/core";
import { createDrivenStore } from "@durable-mcp/core/store-driver";
import { expect, test } from "vitest";
import { createMapDriver } from "../../../core/test/map-driver.ts";
import { startProcess } from "../durable-process.ts";
import { answer, startNotebookServer } from "../../../sessions/test/notebook-server.ts";
import { alice, callForText } from "../step.ts";

const maxValueLength = 1_000_000;

test("a tool list that a store's record has no room for costs a listing, not the session", async () => {
  let description = "";
  const server = await startNotebookServer({
    setUp: (mcp) => mcp.registerTool("large", { description }, () => answer("done")),
  });
  const store = createMemoryStore();
  const session = { toolList: { maxLength: 2 * maxValueLength } };
  const { sessions, events } = startProcess(server, store, { session });
  const run = (chat: string) =>
    sessions.run(chat, { principal: alice }, async (own) =>
      callForText(await own.tools(), "notes__large"),
    );

  await run("small");
  const { records } = await store.list({ limit: 1 });
  const length = JSON.stringify(records[0]!.value).length;
  // The snapshot is within its own limit, the record around it is beyond that of the store.
  description = "x".repeat(maxValueLength - length + 10);
  expect(await run("large")).toBe("done");
  expect(await run("large")).toBe("done");
  expect(server.sessionIds).toHaveLength(2);
  expect(events.map(({ type }) => type)).toEqual(["started", "started", "resumed"]);
  const [info] = (await sessions.list({ principal: alice, sessionId: "large" })).sessions;
  expect(info).toMatchObject({ kind: "session" });
  expect(info).not.toHaveProperty("tools");
});

test("a server that says more of itself than a record has room for is unavailable, which says why", async () => {
  const server = await startNotebookServer({ instructions: "x".repeat(maxValueLength - 500) });
  const { sessions } = startProcess(server, createMemoryStore());
  await sessions.run("chat", { principal: alice }, async (run) => {
    await expect(run.client("notes")).rejects.toMatchObject({
      code: "CONNECTION_UNAVAILABLE",
      message: expect.stringContaining("more than 900,000 characters"),
    });
  });
});

test("a store with small records keeps the session without the tools, and an event tells", async () => {
  const server = await startNotebookServer({
    setUp: (mcp) =>
      mcp.registerTool("large", { description: "x".repeat(30_000) }, () => answer("done")),
  });
  const store = createDrivenStore(createMapDriver(20_000));
  const { sessions, events } = startProcess(server, store);
  const run = () =>
    sessions.run("chat", { principal: alice }, async (own) =>
      callForText(await own.tools(), "notes__large"),
    );
  expect(await run()).toBe("done");
  expect(await run()).toBe("done");
  expect(server.sessionIds).toHaveLength(1);
  expect(events.filter(({ type }) => type === "not-kept")).toMatchObject([
    { connection: "notes", method: "tools/list" },
    { connection: "notes", method: "tools/list" },
  ]);
});
