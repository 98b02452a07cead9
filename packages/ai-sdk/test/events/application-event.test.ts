import { createMemoryStore } from "@durable-mcp/core";
import { expect, test } from "vitest";
import { startNotebookServer } from "../../../sessions/test/notebook-server.ts";
import { alice, callForText } from "../step.ts";
import { createDurableSessions, defineMcpClientConnection } from "../../src/index.ts";
import type { ApplicationEvent, OnEvent } from "../../../sessions/src/events/application-event.ts";
import { createTeller } from "../../../sessions/src/events/application-event.ts";
import type { ConnectionEvent } from "../../../sessions/src/events/connection-event.ts";

/** Two steps in one session, which the server has forgotten before the second. */
async function runSteps(onEvent: OnEvent) {
  const server = await startNotebookServer();
  const notes = defineMcpClientConnection({
    ...{ url: server.url, description: "Notes.", session: "stateful" },
    tools: { block: ["no_such"] },
  });
  const sessions = createDurableSessions({
    ...{ connections: { notes }, store: createMemoryStore(), onEvent },
  });
  for (let step = 1; step <= 2; step += 1) {
    await sessions.run("chat", { principal: alice }, async (run) => {
      if (step === 2) server.forgetSessions();
      return await callForText(await run.tools(), "notes__list_notes");
    });
  }
}

test("an application gets what changes for it, and what is wrong in words", async () => {
  const told: ApplicationEvent[] = [];
  await runSteps((event) => told.push(event));
  expect(told.map(({ type }) => type)).toEqual(["warning", "warning", "lost", "recovered"]);
  expect(told[0]).toEqual({
    ...{ type: "warning", connection: "notes", reason: "tools-unmatched" },
    message: expect.stringContaining("tools.block names tools that there are none of: no_such."),
  });
});

test("a log gets all", async () => {
  const told: ConnectionEvent[] = [];
  await runSteps({ every: (event) => told.push(event) });
  const types = new Set(told.map(({ type }) => type));
  const diagnostics = ["started", "resumed", "client", "operation", "step-ended"];
  expect([...types]).toEqual(expect.arrayContaining([...diagnostics, "tools-unmatched", "lost"]));
  expect(types.has("warning" as never)).toBe(false);
});

const fail = () => {
  throw new Error("of the application");
};

const measuring = (observe: (event: ConnectionEvent) => void) => ({
  trace: () => Promise.reject(),
  observe,
});

test("what listens may throw, and so may telemetry; the other gets the event all the same", () => {
  const heard: string[] = [];
  const hear = ({ type }: { type: string }) => void heard.push(type);
  const tells = [
    createTeller(measuring(hear), fail),
    createTeller(measuring(hear), { every: fail }),
    createTeller(measuring(fail), hear),
  ];
  for (const tell of tells) tell({ type: "restored", connection: "notes" });
  expect(heard).toEqual(["restored", "restored", "restored"]);
});
