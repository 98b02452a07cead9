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
