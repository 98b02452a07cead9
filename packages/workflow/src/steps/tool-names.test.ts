import { type ConnectionEvent, defineMcpClientConnection } from "@durable-mcp/ai-sdk";
import { expect, test } from "vitest";
import { startNotebookServer } from "../../../sessions/test/notebook-server.ts";
import { openDurableConnections } from "../run/open-durable-connections.ts";
import { createConnectionSteps, type SlotRefusedEvent } from "./create-connection-steps.ts";

const principal = { type: "user", issuer: "https://idp.test", id: "alice" } as const;
const keys = { current: "a2V5IGZvciB0aGUgdGVzdHMgb2YgdGhlIHdvcmtmbG8" };

async function startSteps() {
  const server = await startNotebookServer();
  const notes = (prefix: string | false) =>
    defineMcpClientConnection({
      url: server.url,
      description: "Notes.",
      session: "stateful",
      toolNames: { prefix },
    });
  const events: (ConnectionEvent | SlotRefusedEvent)[] = [];
  const steps = createConnectionSteps({
    connections: { first: notes(false), second: notes(false), other: notes("other_") },
    keys,
    onEvent: { every: (event) => void events.push(event) },
  });
  return { server, steps, events };
}

test("the tools of a run are named by their connections", async () => {
  const { steps } = await startSteps();
  const run = await openDurableConnections({ connections: ["first", "other"], principal, steps });
  const names = ["add_note", "list_notes", "fail", "wait"];
  expect(Object.keys(run.tools)).toEqual([...names, ...names.map((name) => `other_${name}`)]);
});

test("two tools of one name are left out of a run, with an event", async () => {
  const { steps, events } = await startSteps();
  const connections = ["first", "second", "other"];
  const run = await openDurableConnections({ connections, principal, steps });
  expect(Object.keys(run.tools)).toEqual(
    ["add_note", "list_notes", "fail", "wait"].map((name) => `other_${name}`),
  );
  expect(events.filter(({ type }) => type === "tools-collide")).toHaveLength(4);
});

test("or fail its start, and the sessions that were made are ended", async () => {
  const { server, steps } = await startSteps();
  const open = openDurableConnections({
    connections: ["first", "second"],
    principal,
    steps,
    onUnavailable: "throw",
  });
  await expect(open).rejects.toThrow(/CONNECTION_INVALID.*add_note of connection first/);
  expect(server.liveSessions()).toBe(0);
});
