import { describe, expect, test } from "vitest";
import { sendJson, sendResult, startMcpServer } from "../../test/mcp-server.ts";
import { saveSession, startStep } from "../../test/step.ts";
import { sessionFailure } from "../session/session-slot.ts";

async function startStepOn(answer: (id: string) => { status?: number; message: object }) {
  const server = await startMcpServer();
  const step = startStep(server, { snapshot: await saveSession(server) });
  server.use(({ message }, response, next) => {
    if (message?.method === "ping") return sendResult(response, message.id, {});
    if (message?.method !== "tools/call" && message?.method !== "tools/list") return next();
    const { status = 200, message: answered } = answer(message.id);
    sendJson(response, status, { jsonrpc: "2.0", ...answered });
  });
  return { ...step, server };
}

const lost = (id: string, padding = "") => ({
  message: {
    id,
    error: { code: -32603, message: "Lost.", data: { code: "OUTCOME_UNKNOWN", padding } },
  },
});

describe("a server's own OUTCOME_UNKNOWN", () => {
  test.each([0, 50_000])(
    "is that error for our caller, with %i characters more",
    async (length) => {
      const { client, slot } = await startStepOn((id) => lost(id, "x".repeat(length)));
      const { error } = await client.request("tools/call", { name: "pay" });
      expect(sessionFailure(slot, error)).toMatchObject({
        code: "OUTCOME_UNKNOWN",
        message: expect.stringContaining("says that the answer was lost there"),
        data: { method: "tools/call" },
      });
    },
  );

  test("no other code of ours is one of ours, because it would claim something", async () => {
    const { client, slot } = await startStepOn((id) => ({
      message: {
        id,
        error: { code: -32603, message: "No.", data: { code: "CONNECTION_UNAVAILABLE" } },
      },
    }));
    const { error } = await client.request("tools/call");
    expect([error.message, sessionFailure(slot, error)]).toEqual(["No.", undefined]);
  });
});

describe("a 409 that says that the request is in flight already", () => {
  const message = "A request with this id is in flight. Use another id.";
  const refused = () => ({ status: 409, message: { id: null, error: { code: -32600, message } } });

  test("is an unknown outcome of a call, and the call is not sent again", async () => {
    const { client, server } = await startStepOn(refused);
    await expect(client.request("tools/call")).rejects.toMatchObject({
      code: "OUTCOME_UNKNOWN",
      data: { status: 409, method: "tools/call" },
    });
    expect(server.log).toEqual(["POST tools/call"]);
  });

  test("stays a refusal of what changes nothing", async () => {
    const { client } = await startStepOn(refused);
    expect(await client.request("tools/list")).toMatchObject({ status: 409 });
  });
});
