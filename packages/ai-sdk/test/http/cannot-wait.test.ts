import { setTimeout } from "node:timers/promises";
import { createMemoryStore } from "@durable-mcp/core";
import type { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { expect, onTestFinished, test, vi } from "vitest";
import { collectEvents } from "../collect-events.ts";
import { createEventStore } from "../../../sessions/test/slow-sessions.ts";
import { startNotebookServer } from "../../../sessions/test/notebook-server.ts";
import { alice } from "../step.ts";
import { createDurableSessions, defineMcpClientConnection } from "../../src/index.ts";

test("a slow call whose stream has no event ids says that it cannot be left, and goes on", async () => {
  const { url, requests, waits, release } = await startNotebookServer();
  const { onEvent, events } = collectEvents();
  const sessions = createDurableSessions({
    connections: {
      notes: defineMcpClientConnection({
        ...{ url, description: "Notes.", session: "stateful" },
        waiting: { afterMs: 100 },
      }),
    },
    store: createMemoryStore(),
    onEvent,
  });
  const result = await sessions.run("chat", { principal: alice }, async (run) => {
    const waiting = run.call("notes", "wait");
    await vi.waitFor(() => expect(waits).toEqual(["started"]), 20_000);
    await setTimeout(250);
    release();
    return await waiting;
  });
  expect(result.content).toEqual([{ type: "text", text: "finished" }]);
  expect(waits).toEqual(["started", "finished"]);
  // Nothing of ours is among the arguments: a strict server would refuse it.
  const call = requests.find(({ message }) => message?.method === "tools/call");
  expect(call?.message.params).toEqual({ name: "wait", arguments: {} });
  const told = { type: "cannot-wait", connection: "notes", tool: "wait", reason: "no-event-id" };
  expect(events.filter(({ type }) => type === "cannot-wait")).toEqual([told]);
  expect(await sessions.waiting("chat", { principal: alice })).toEqual([]);
});

/** Asks on the stream that nobody has opened, for so many milliseconds. */
function asksBeside(mcp: McpServer, timeout = 60_000) {
  mcp.registerTool("greet", {}, async () => {
    const requestedSchema = { type: "object", properties: {} } as const;
    await mcp.server.elicitInput({ message: "Sure?", requestedSchema }, { timeout });
    return { content: [] };
  });
}

function listenToConsole() {
  const warn = vi.spyOn(console, "warn").mockImplementation(() => undefined);
  onTestFinished(() => warn.mockRestore());
  return () => warn.mock.calls.map(([text]) => String(text));
}

test("a question beside the call's stream hangs nothing and parks nothing, and the console says what helps", async () => {
  const { url, requests } = await startNotebookServer({ setUp: asksBeside });
  const said = listenToConsole();
  const notes = defineMcpClientConnection({
    ...{ url, description: "Notes.", session: "stateful" },
    ...{ waiting: { afterMs: 50 }, timeouts: { callMs: 500 } },
  });
  const sessions = createDurableSessions({ connections: { notes }, store: createMemoryStore() });
  const use = { principal: alice };
  const greet = () => sessions.run("chat", use, (run) => run.call("notes", "greet"));
  for (const call of [greet, greet])
    await expect(call()).rejects.toMatchObject({ code: "OUTCOME_UNKNOWN" });
  expect(await sessions.waiting("chat", use)).toEqual([]);
  // Nothing listens: some servers end the session with such a stream.
  expect(requests.filter(({ method }) => method === "GET")).toEqual([]);
  expect(said()).toEqual([expect.stringContaining("answer within the step with onElicitation")]);
});

test.each([50, 60_000])(
  "a question that nobody heard, on a server with event ids, is told when the call ends: afterMs %i",
  async (afterMs) => {
    const { url } = await startNotebookServer({
      setUp: (mcp) => asksBeside(mcp, 300),
      eventStore: createEventStore(),
    });
    const said = listenToConsole();
    const notes = defineMcpClientConnection({
      ...{ url, description: "Notes.", session: "stateful", waiting: { afterMs } },
    });
    const sessions = createDurableSessions({ connections: { notes }, store: createMemoryStore() });
    const use = { principal: alice };
    await sessions.run("chat", use, (run) => run.call("notes", "greet"));
    const waiting = async () => {
      await sessions.check("chat", use);
      return (await sessions.waiting("chat", use)).filter(
        (each) => "state" in each && each.state === "waiting",
      );
    };
    await expect.poll(waiting).toEqual([]);
    expect(said()).toEqual([expect.stringContaining("answer within the step with onElicitation")]);
  },
);
