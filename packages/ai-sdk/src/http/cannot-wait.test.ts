import { createMemoryStore } from "@durable-mcp/core";
import { expect, test } from "vitest";
import { collectEvents } from "../../test/collect-events.ts";
import { startNotebookServer } from "../../test/notebook-server.ts";
import { alice, callForText } from "../../test/step.ts";
import { defineMcpClientConnection } from "../connection/define-connection.ts";
import { createDurableSessions } from "../sessions/create-durable-sessions.ts";

test("a pausing connection to a server with sessions says that nothing of it can wait, and works", async () => {
  const { url, requests } = await startNotebookServer();
  const { onEvent, events } = collectEvents();
  const sessions = createDurableSessions({
    connections: {
      notes: defineMcpClientConnection({ url, description: "Notes.", waiting: true }),
    },
    store: createMemoryStore(),
    onEvent,
  });
  const text = await sessions.run("chat", { principal: alice }, async (run) =>
    callForText(await run.tools(), "notes__add_note", { text: "a" }),
  );
  expect(text).toBe("1 notes");
  // Nothing of ours is among the arguments: a strict server would refuse it.
  const call = requests.find(({ message }) => message?.method === "tools/call");
  expect(call?.message.params.arguments).toEqual({ text: "a" });
  expect(events).toEqual([
    { type: "cannot-wait", connection: "notes", protocolVersion: "2025-11-25" },
  ]);
});
