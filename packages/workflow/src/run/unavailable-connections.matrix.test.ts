import { expect, test, vi } from "vitest";
import { resumeHook } from "workflow/api";
import { setStepSettings } from "../../test/app/connections.ts";
import { add, alice, list, startNotes, textOf, useTestApp } from "../../test/test-app.ts";
import { defineMcpClientConnection } from "@durable-mcp/ai-sdk";

const app = useTestApp();

test("a server that is down is left out, and its session is kept for the next run", async () => {
  const server = await startNotes();
  const { state } = await app.scripted({ turns: [[add("milk")]] });
  server.intercept((_, response) => void response.writeHead(503).end());
  const second = await app.scripted({ state });
  expect(second.tools).toEqual([]);
  expect(server.events()).toContain("unavailable");
  server.intercept(() => "next");
  const third = await app.scripted({ state: second.state, turns: [[list]] });
  expect(textOf(third.results[0]![0])).toBe("milk");
});

test("a run may insist on its servers: the step is repeated until one is there", async () => {
  const server = await startNotes();
  let refusals = 0;
  server.intercept((_, response) => {
    if (refusals >= 2) return "next";
    refusals += 1;
    return void response.writeHead(503).end();
  });
  const { results } = await app.scripted({ onUnavailable: "throw", turns: [[list]] });
  expect(textOf(results[0]![0])).toBe("");
  expect(refusals).toBe(2);
});

test("an attempt that fails leaves no session behind at the servers that were there", async () => {
  const server = await startNotes();
  const session = "stateful";
  const notes = defineMcpClientConnection({ url: server.url, description: "Notes.", session });
  const down = defineMcpClientConnection({
    url: "http://127.0.0.1:1/mcp",
    description: "None.",
    session,
  });
  setStepSettings({ notes });
  const { state } = await app.scripted({ turns: [[add("milk")]] });
  setStepSettings({ notes, also: notes, down });
  const connections = ["notes", "also", "down"];
  const run = await app.beginScripted({ connections, state, onUnavailable: "throw" });
  await expect(run.returnValue).rejects.toThrow(
    "initialize at http://127.0.0.1:1: no connection could be made",
  );
  // Nor is the session ended that was there before.
  expect(server.sessionIds.length).toBeGreaterThan(2);
  expect(server.liveSessions()).toBe(1);
  const { results } = await app.scripted({ state, turns: [[list]] });
  expect(textOf(results[0]![0])).toBe("milk");
});

test("a connection that is not declared fails the run at once", async () => {
  setStepSettings({
    local: defineMcpClientConnection({ url: "http://127.0.0.1:1/mcp", description: "None." }),
  });
  const run = await app.beginScripted({ connections: ["notes"], principal: alice });
  await expect(run.returnValue).rejects.toThrow(
    'CONNECTION_INVALID: There is no connection "notes". Declared: local.',
  );
});

test("a connection that a deployment has removed fails its calls, not the run", async () => {
  const server = await startNotes();
  const run = await app.beginScripted({ turns: [[add("milk")], { hook: "deployed" }, [list]] });
  await vi.waitFor(() => expect(server.log).toContain("POST tools/call"), 20_000);
  setStepSettings({});
  await vi.waitFor(async () => await resumeHook("deployed", {}), 20_000);
  const { results } = await run.returnValue;
  const message: unknown = expect.stringContaining('There is no connection "notes"');
  expect(results[2]![0]).toEqual({ code: "CONNECTION_INVALID", message });
});

test("a connection whose server has moved gets a session there, and the model is told", async () => {
  await startNotes();
  const { state } = await app.scripted({ turns: [[add("milk")]] });
  const moved = await startNotes();
  const { results } = await app.scripted({ state, turns: [[list]] });
  expect(textOf(results[0]![0])).toContain("the server had lost the session");
  expect(moved.sessionIds).toHaveLength(1);
});
