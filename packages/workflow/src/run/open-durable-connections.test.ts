import { expect, test, vi } from "vitest";
import { resumeHook } from "workflow/api";
import { eventLogText } from "../../test/event-log.ts";
import { add, list, startNotes, textOf, useTestApp } from "../../test/test-app.ts";

const app = useTestApp();

test("a run keeps one session, and a call is one request", async () => {
  const server = await startNotes();
  const { results, tools } = await app.scripted({ turns: [[add("milk")], [add("bread")], [list]] });
  expect(results.flat().map(textOf)).toEqual(["1 notes", "2 notes", "milk, bread"]);
  expect(tools).toContain("notes__add_note");
  expect(server.log).toEqual([
    "POST initialize",
    "POST notifications/initialized",
    "POST tools/list",
    "POST tools/call",
    "POST tools/call",
    "POST tools/call",
  ]);
});

test("calls that are made at once share the session", async () => {
  const server = await startNotes();
  const items = ["a", "b", "c", "d", "e"];
  const { results } = await app.scripted({ turns: [items.map(add), [list]] });
  expect(textOf(results[1]![0]).split(", ").toSorted()).toEqual(items);
  expect(server.sessionIds).toHaveLength(1);
});

test("the next run of a chat goes on in the session, from the state of the first", async () => {
  const server = await startNotes();
  const chat = { sessionId: "chat" };
  const first = await app.scripted({ ...chat, turns: [[add("milk")]] });
  const before = server.log.length;
  const second = await app.scripted({ ...chat, state: first.state, turns: [[list]] });
  expect(textOf(second.results[0]![0])).toBe("milk");
  expect(server.log.slice(before)).toEqual(["POST tools/list", "POST tools/call"]);
});

test("a run that waits for somebody goes on in the session, or once in another", async () => {
  const server = await startNotes();
  const turns = [
    [add("milk")],
    { hook: "approval-1" },
    [list],
    { hook: "approval-2" },
    [list],
    [list],
  ];
  const run = await app.beginScripted({ turns });
  await vi.waitFor(async () => await resumeHook("approval-1", { approved: true }), 20_000);
  await vi.waitFor(async () => {
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(server.log.filter((line) => line === "POST tools/call")).toHaveLength(2);
  }, 20_000);
  server.forgetSessions();
  await vi.waitFor(async () => await resumeHook("approval-2", { approved: true }), 20_000);
  const { results } = await run.returnValue;
  expect(results[1]![0]).toEqual({ approved: true });
  expect(textOf(results[2]![0])).toBe("milk");
  expect(textOf(results[4]![0])).toContain("the server had lost the session");
  expect(textOf(results[5]![0])).toBe("");
  expect(server.sessionIds).toHaveLength(2);
});

test("what a tool or the server refuses is the result of its call", async () => {
  const server = await startNotes();
  server.intercept((request, response) => {
    if (request.message?.params?.name !== "list_notes") return "next";
    response.writeHead(200, { "content-type": "application/json" });
    const error = { code: -32602, message: "No such page." };
    return void response.end(JSON.stringify({ jsonrpc: "2.0", id: request.message.id, error }));
  });
  const { results } = await app.scripted({ turns: [[{ tool: "notes__fail" }], [list]] });
  expect(textOf(results[0]![0])).toContain("The pencil broke.");
  expect(results[1]![0]).toEqual({ code: undefined, message: "No such page." });
});

test.each([false, true])(
  "the application's arguments are added in the step, and are not in the event log, stored: %s",
  async (isStored) => {
    const server = await startNotes("stateful", {
      providedArguments: { text: ({ sessionId, tool }) => `a-secret of ${sessionId}, ${tool}` },
    });
    const call = { tool: "notes__add_note" };
    const { results } = await app.scripted({ isStored, sessionId: "chat-1", turns: [[call]] });
    expect(textOf(results[0]![0])).toBe("1 notes");
    const sent = server.requests.filter(({ message }) => message.method === "tools/call");
    expect(sent.map(({ message }) => message.params.arguments)).toEqual([
      { text: "a-secret of chat-1, add_note" },
    ]);
    expect(eventLogText(app.world.dataDir)).not.toContain("a-secret");
  },
);
