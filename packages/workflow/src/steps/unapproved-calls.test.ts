import { type ConnectionEvent, defineMcpClientConnection } from "@durable-mcp/ai-sdk";
import { expect, test } from "vitest";
import { startNotebookServer } from "../../../sessions/test/notebook-server.ts";
import { callInStep } from "./call-step.ts";
import { createSealedSessions } from "./sealed-sessions.ts";

const principal = { type: "user", issuer: "https://idp.test", id: "alice" } as const;

test("a call that a person would have to approve does not run, and the model is told", async () => {
  const server = await startNotebookServer();
  const notes = defineMcpClientConnection({
    url: server.url,
    description: "Notes.",
    session: "stateful",
    approval: ({ tool }) => tool === "add_note" && Promise.resolve(true),
  });
  const events: ConnectionEvent[] = [];
  const sessions = createSealedSessions({
    keys: { current: new Uint8Array(32) },
    expiresInMs: 60_000,
    emit: (event) => void events.push(event),
    emitRefused: () => undefined,
    now: Date.now,
  });
  const step = { connection: "notes", definition: notes, principal, sessionId: undefined };
  const { slot } = await sessions.open({ ...step, slot: undefined }, async (run) =>
    run.client("notes"),
  );
  const call = async (tool: string, input: object) =>
    await callInStep(
      sessions,
      { ...step, slot },
      { connection: "notes", tool, input, principal, slot, mayRunTwice: false, tellLoss: false },
    );
  server.requests.length = 0;
  const asked = await call("add_note", { text: "milk" });
  expect(JSON.stringify(asked)).toContain("has to approve this call");
  expect(server.log).toEqual([]);
  expect(await call("list_notes", {})).toMatchObject({ ok: true });
  expect(server.log).toEqual(["POST tools/call"]);
});
