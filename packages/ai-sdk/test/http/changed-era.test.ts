/** A stateful connection whose server changes to revisions without sessions, or back, between two requests. */
import { createMemoryStore } from "@durable-mcp/core";
import { expect, test } from "vitest";
import { startModernServer } from "../../../sessions/test/modern-server.ts";
import { startNotebookServer } from "../../../sessions/test/notebook-server.ts";
import { alice, callTool, startApplication } from "../step.ts";
import { createDurableSessions, defineMcpClientConnection } from "../../src/index.ts";

const answered = { content: [{ text: "hello from list_notes" }] };
const lost = { _meta: { "durable-mcp/sessionReplaced": true } };

/** The notebook of the official SDK, in whose place a server of 2026-07-28 may answer. */
async function startChanging(caching: object = {}) {
  const notebook = await startNotebookServer();
  const modern = await startModernServer({ caching });
  const turnModern = () =>
    notebook.intercept(async ({ method, headers, message }, response) => {
      const { host: _host, connection: _c, "content-length": _l, ...own } = headers;
      const relayed = await fetch(modern.url, {
        method,
        headers: own as Record<string, string>,
        ...(message && { body: JSON.stringify(message) }),
      });
      response.writeHead(relayed.status, { "content-type": "application/json" });
      response.end(await relayed.text());
    });
  const turnOld = () => notebook.intercept(() => "next");
  return { notebook, turnModern, turnOld };
}

test("heals within the step where the server has no sessions any more, and the model is told", async () => {
  const { notebook, turnModern } = await startChanging();
  const { step, takeEvents, events } = startApplication({
    notes: defineMcpClientConnection({ url: notebook.url, session: "stateful", description: "N." }),
  });
  const first = await step({}, async (registry) =>
    callTool(await registry.tools(), "notes__list_notes"),
  );
  takeEvents();
  turnModern();
  const second = await step(first, async (registry) => {
    const own = await registry.tools();
    const calls = await Promise.all(
      Array.from({ length: 4 }, () => callTool(own, "notes__list_notes")),
    );
    for (const result of calls) expect(result).toMatchObject(answered);
    expect(calls.filter((result) => "_meta" in result)).toEqual([expect.objectContaining(lost)]);
  });
  const told = events
    .map(({ type }) => type)
    .filter((type) => !/^(?:operation|step-ended|client)$/.test(type));
  expect(told).toEqual(["resumed", "lost", "stateless"]);
  await step(second, async (registry) => {
    const own = await registry.tools();
    expect(Object.keys(own)).toEqual(["notes__greet"]);
    expect(await callTool(own, "notes__greet")).not.toMatchObject(lost);
  });
});

test("heals each time that the server changes within one step", async () => {
  const { notebook, turnModern, turnOld } = await startChanging();
  const { step } = startApplication({
    notes: defineMcpClientConnection({ url: notebook.url, session: "stateful", description: "N." }),
  });
  const texts: string[] = [];
  await step({}, async (registry) => {
    const own = await registry.tools();
    for (const turn of [turnOld, turnModern, turnOld, turnModern, turnOld]) {
      turn();
      const { content } = await callTool(own, "notes__add_note", { text: "a" });
      texts.push(content[0].text);
    }
  });
  const modern = "hello from add_note";
  expect(texts).toEqual(["1 notes", modern, "1 notes", modern, "1 notes"]);
});

test.each(["discovered", "remembered"])("and back, where the client had %s", async (how) => {
  const caching = { ttlMs: 60_000, cacheScope: "private" };
  const { notebook, turnModern, turnOld } = await startChanging(caching);
  const connections = {
    notes: defineMcpClientConnection({
      ...{ url: notebook.url, session: "stateful", description: "N." },
      ...(how === "remembered" && { memory: "server" as const }),
    }),
  };
  const events: string[] = [];
  const sessions = createDurableSessions({
    ...{ connections, store: createMemoryStore() },
    onEvent: { every: ({ type }) => void events.push(type) },
  });
  const run = <T>(use: Parameters<typeof sessions.run<T>>[2]) =>
    sessions.run("chat", { principal: alice }, use);
  turnModern();
  await run(async (own) => callTool(await own.tools(), "notes__greet"));
  events.length = 0;
  turnOld();
  const call = { tool: "add_note", input: { text: "a" } };
  const added = await run((own) => own.call("notes", call.tool, call.input));
  expect(added).toMatchObject({ content: [{ text: "1 notes" }] });
  expect(events).toContain("started");
  const listed = await run(async (own) => callTool(await own.tools(), "notes__list_notes"));
  expect(listed).toMatchObject({ content: [{ text: "a" }] });
  expect(notebook.sessionIds).toHaveLength(1);
});
