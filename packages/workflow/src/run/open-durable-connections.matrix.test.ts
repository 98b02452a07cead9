import { expect, test, vi } from "vitest";
import { setStepSettings } from "../../test/app/connections.ts";
import { add, bob, list, startNotes, textOf, useTestApp } from "../../test/test-app.ts";
import { defineMcpClientConnection } from "@durable-mcp/ai-sdk";

const app = useTestApp();

test("a run hands on what it does not use itself", async () => {
  const server = await startNotes();
  const definition = defineMcpClientConnection({
    url: server.url,
    description: "Notes.",
    session: "stateful",
  });
  setStepSettings({ first: definition, second: definition });
  const [both, one] = [["first", "second"], ["first"]];
  const text = { text: "milk" };
  const turns = [[{ tool: "second__add_note", input: text }]];
  const { state } = await app.scripted({ connections: both, turns });
  const without = await app.scripted({ connections: one, state, endsSessions: true });
  const last = await app.scripted({
    connections: both,
    state: without.state,
    turns: [[{ tool: "second__list_notes" }]],
  });
  expect(textOf(last.results[0]![0])).toBe("milk");
  expect(server.sessionIds).toHaveLength(3);
});

test("a connection that is named twice is opened once", async () => {
  const server = await startNotes();
  await app.scripted({ connections: ["notes", "notes"], turns: [[list]] });
  expect(server.sessionIds).toHaveLength(1);
});

test("two runs at once go on in the session of one state", async () => {
  const server = await startNotes();
  const { state } = await app.scripted({ turns: [[add("milk")]] });
  const runs = ["bread", "eggs"].map((item) => app.scripted({ state, turns: [[add(item)]] }));
  await Promise.all(runs);
  const { results } = await app.scripted({ state, turns: [[list]] });
  expect(textOf(results[0]![0]).split(", ").toSorted()).toEqual(["bread", "eggs", "milk"]);
  expect(server.sessionIds).toHaveLength(1);
});

test("a state counts for its principal and its chat alone", async () => {
  const server = await startNotes();
  const turns = [[list]];
  const { state } = await app.scripted({ sessionId: "chat", turns: [[add("secret")]] });
  const ofBob = await app.scripted({ sessionId: "chat", state, principal: bob, turns });
  const ofOtherChat = await app.scripted({ sessionId: "other", state, turns });
  const ofNoState = await app.scripted({ sessionId: "chat", state: "{", turns });
  const texts = [ofBob, ofOtherChat, ofNoState].map(({ results }) => textOf(results[0]![0]));
  expect(texts).toEqual(["", "", ""]);
  expect(server.sessionIds).toHaveLength(4);
  expect(server.events().filter((type) => type === "slot-refused")).toHaveLength(2);
});

test("a run that sleeps goes on in the session", async () => {
  const server = await startNotes();
  const run = await app.beginScripted({ turns: [[add("milk")], { sleepMs: 86_400_000 }, [list]] });
  await vi.waitFor(async () => expect((await run.wakeUp()).stoppedCount).toBe(1), 20_000);
  const { results } = await run.returnValue;
  expect(textOf(results[1]![0])).toBe("milk");
  expect(server.sessionIds).toHaveLength(1);
});

test("the sessions are ended when the run says so", async () => {
  const server = await startNotes();
  const { state } = await app.scripted({ turns: [[add("milk")]], endsSessions: true });
  expect(server.liveSessions()).toBe(0);
  expect(state).toBeUndefined();
});

test("a session that its server does not end is reported, and the run goes on", async () => {
  const server = await startNotes();
  server.intercept((request, response) => {
    return request.method === "DELETE" ? void response.writeHead(503).end() : "next";
  });
  const { state } = await app.scripted({ endsSessions: true });
  expect(server.events()).toContain("close-failed");
  expect(state).toBeUndefined();
});

test("a stateless connection has no session, and makes its handshake in each step", async () => {
  const server = await startNotes("stateless");
  const { results, state } = await app.scripted({ turns: [[add("milk")], [list]] });
  expect(results.flat().map(textOf)).toEqual(["1 notes", ""]);
  expect(state).toBeUndefined();
  expect(server.sessionIds).toHaveLength(3);
});

test("a result that is not a text reaches the model as what it is", async () => {
  const server = await startNotes();
  server.intercept((request, response) => {
    if (request.message?.method !== "tools/call") return "next";
    const content = [
      { type: "text", text: "a picture" },
      { type: "image", data: "aGk=", mimeType: "image/png" },
      { type: "audio", data: "aGk=", mimeType: "audio/wav" },
    ];
    response.writeHead(200, { "content-type": "application/json" });
    return void response.end(
      JSON.stringify({ jsonrpc: "2.0", id: request.message.id, result: { content } }),
    );
  });
  const { results } = await app.scripted({ turns: [[list]] });
  expect(results[0]![0]).toEqual({
    type: "content",
    value: [
      { type: "text", text: "a picture" },
      { type: "image-data", data: "aGk=", mediaType: "image/png" },
      { type: "text", text: '{"type":"audio","data":"aGk=","mimeType":"audio/wav"}' },
    ],
  });
});
