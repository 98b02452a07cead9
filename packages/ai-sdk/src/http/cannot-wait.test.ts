import { setTimeout } from "node:timers/promises";
import { createMemoryStore } from "@durable-mcp/core";
import { expect, test } from "vitest";
import { collectEvents } from "../../test/collect-events.ts";
import { startNotebookServer } from "../../test/notebook-server.ts";
import { alice } from "../../test/step.ts";
import { defineMcpClientConnection } from "../connection/define-connection.ts";
import { createDurableSessions } from "../sessions/create-durable-sessions.ts";

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
