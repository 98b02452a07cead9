import { expect, test, vi } from "vitest";
import { on, startNotebookServer } from "../../test/notebook-server.ts";
import { notebook } from "../../test/saved-session.ts";
import { alice, callTool, startApplication } from "../../test/step.ts";
import { defineMcpClientConnection } from "../index.ts";

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

test("ends a call that takes too long, on the server as well", async () => {
  const { step, server } = await startUsed();
  await step({}, async (registry) => {
    await registry.ready("notes");
    const call = registry.call("notes", "wait", {}, { timeoutMs: 1_000 });
    await expect(call).rejects.toMatchObject({
      code: "OUTCOME_UNKNOWN",
      data: { connection: "notes" },
    });
    await vi.waitFor(() => expect(server.waits).toEqual(["started", "aborted"]), patient);
    expect(
      await registry.call("notes", "add_note", { text: "a" }, { timeoutMs: 20_000 }),
    ).toBeDefined();
  });
});

test("fails when the caller aborts, and cancels the call on the server", async () => {
  const { step, server } = await startUsed();
  await step({}, async (registry) => {
    const aborting = new AbortController();
    const { signal: abortSignal } = aborting;
    const call = registry.call("notes", "wait", {}, { abortSignal });
    await vi.waitFor(() => expect(server.waits).toEqual(["started"]), patient);
    aborting.abort();
    await expect(call).rejects.toThrow("aborted");
    await vi.waitFor(() => expect(server.waits).toEqual(["started", "aborted"]), patient);
    const never = registry.call("notes", "add_note", { text: "a" }, { abortSignal });
    await expect(never).rejects.toMatchObject({ name: "AbortError" });
  });
  const added = server.requests.filter(({ message }) => message?.params?.name === "add_note");
  expect(added).toEqual([]);
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

test("says that the registry is gone", async () => {
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

// Some of these a timer takes for 1 ms, others it refuses with an error of its own.
test.each([0, -1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 31])(
  "refuses a time of %d, and sends nothing",
  async (timeoutMs) => {
    const { server, step } = await startUsed();
    await step({}, async (registry) => {
      await expect(registry.call("notes", "list_notes", {}, { timeoutMs })).rejects.toMatchObject({
        code: "CONNECTION_INVALID",
        data: { field: "timeoutMs" },
      });
    });
    expect(server.log).toEqual([]);
  },
);
