import { expect, test, vi } from "vitest";
import { on, startNotebookServer } from "../../../sessions/test/notebook-server.ts";
import { notebook } from "../saved-session.ts";
import { alice, callTool, startApplication } from "../step.ts";
import { defineMcpClientConnection } from "../../src/index.ts";

/** A busy machine takes its time. */
const patient = { timeout: 10_000 };
vi.setConfig({ testTimeout: 20_000 });

async function startUsed() {
  const server = await startNotebookServer();
  const { provider, step, takeEvents } = startApplication({ notes: notebook(server) });
  return { server, provider, step, takeEvents };
}

test("calls a tool of the session and gives the server's result", async () => {
  const { step, server } = await startUsed();
  const session = await step({}, async (registry) => {
    expect(await registry.call("notes", "add_note", { text: "milk" })).toEqual({
      content: [{ type: "text", text: "1 notes" }],
      isError: false,
    });
  });
  server.requests.length = 0;
  await step(session, async (registry) => {
    expect(await registry.call("notes", "list_notes")).toMatchObject({
      content: [{ text: "milk" }],
    });
  });
  expect(server.log).toEqual(["POST tools/call"]);
});

test("gives a result of an error as it is", async () => {
  const { step } = await startUsed();
  await step({}, async (registry) => {
    expect(await registry.call("notes", "fail")).toMatchObject({
      isError: true,
      content: [{ text: "The pencil broke." }],
    });
  });
});

test("calls tools that models are not offered", async () => {
  const { url } = await startNotebookServer();
  const { step } = startApplication({
    notes: defineMcpClientConnection({
      url,
      description: "A notebook.",
      tools: { allow: ["list_notes"] },
    }),
  });
  await step({}, async (registry) => {
    expect(Object.keys(await registry.tools())).toEqual(["notes__list_notes"]);
    expect(await registry.call("notes", "add_note", { text: "a" })).toMatchObject({
      content: [{ text: "1 notes" }],
    });
  });
});

test.each([
  ["an unknown connection", "unknown", "add_note", "name"],
  ["no tool", "notes", "", "tool"],
  ["a tool that is no text", "notes", 7, "tool"],
])("refuses %s, and sends nothing", async (_, connection, tool, field) => {
  const { step, server } = await startUsed();
  await step({}, async (registry) => {
    const call = registry.call(connection as "notes", tool as string);
    await expect(call).rejects.toMatchObject({ code: "CONNECTION_INVALID", data: { field } });
  });
  expect(server.log).toEqual([]);
});

test("does not give up a handshake that others wait for", async () => {
  const { step, server } = await startUsed();
  const held = Promise.withResolvers<"next">();
  server.intercept(on("initialize", () => held.promise));
  await step({}, async (registry) => {
    const aborting = new AbortController();
    const { signal: abortSignal } = aborting;
    const given = registry.call("notes", "add_note", { text: "a" }, { abortSignal });
    const other = registry.call("notes", "add_note", { text: "b" });
    await vi.waitFor(() => expect(server.log).toContain("POST initialize"), patient);
    aborting.abort();
    await expect(given).rejects.toMatchObject({ name: "AbortError" });
    held.resolve("next");
    expect(await other).toMatchObject({ content: [{ text: "1 notes" }] });
  });
});

test("goes on in a new session after a loss, and leaves the notice for the model", async () => {
  const { step, server, takeEvents } = await startUsed();
  await step({}, async (registry) => {
    await registry.call("notes", "add_note", { text: "a" });
    server.forgetSessions();
    const result = await registry.call("notes", "list_notes");
    expect(result).toEqual({ content: [{ type: "text", text: "" }], isError: false });
    expect(takeEvents()).toEqual(["started", "lost", "recovered"]);
    const told = await callTool(await registry.tools(), "notes__list_notes");
    expect(told["_meta"]).toEqual({ "durable-mcp/sessionReplaced": true });
  });
});

test("says that the run is gone", async () => {
  const { provider, server } = await startUsed();
  const registry = provider.create({ principal: alice });
  await registry.dispose();
  await expect(registry.call("notes", "list_notes")).rejects.toMatchObject({
    code: "CONNECTION_UNAVAILABLE",
  });
  expect(server.log).toEqual([]);
});

test("names a tool that the server does not have in the server's words", async () => {
  const { step } = await startUsed();
  await step({}, async (registry) => {
    const result: any = await registry.call("notes", "unknown_tool").catch((error: Error) => error);
    expect(JSON.stringify(result.content ?? result.message)).toContain("unknown_tool");
  });
});
