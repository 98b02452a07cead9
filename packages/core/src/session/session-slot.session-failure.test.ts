import { expect, test } from "vitest";
import { startEvents, startMcpServer } from "../../test/mcp-server.ts";
import { saveSession, startStep } from "../../test/step.ts";
import { createSessionSlot, sessionFailure } from "./session-slot.ts";

test("gives the error behind a failure that was delivered as a JSON-RPC error", async () => {
  const server = await startMcpServer();
  const { client, slot } = startStep(server, { snapshot: await saveSession(server) });
  server.use((_, response) => {
    startEvents(response);
    response.end();
  });
  const { error } = await client.request("tools/call");
  expect(sessionFailure(slot, error)).toMatchObject({
    name: "McpSessionError",
    code: "OUTCOME_UNKNOWN",
    data: { method: "tools/call", origin: server.origin },
  });
  expect(sessionFailure(createSessionSlot(), error)).toBeUndefined();
});

test.each([
  { data: { code: "OUTCOME_UNKNOWN", receipt: "made up" } },
  { data: { code: "OUTCOME_UNKNOWN" } },
  { data: null },
  new Error("plain"),
  undefined,
  "text",
])("does not take a server's error for one of ours, %#", (error) => {
  expect(sessionFailure(createSessionSlot(), error)).toBeUndefined();
});
