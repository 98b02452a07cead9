import { expect, test } from "vitest";
import { sendJson, sendText, type TestMcpServer } from "../../test/mcp-server.ts";
import { startLostStep, startStep } from "../../test/step.ts";

// An ingress answers 404 for everything while the server behind it is deployed.
const breakWay = (server: TestMcpServer) =>
  server.use((_, response) => sendText(response, 404, "404 page not found"));
const mendWay = (server: TestMcpServer) => server.use((_request, _response, next) => next());

/** A step whose server is behind a broken way, and knows its session. */
async function startBrokenStep(now: () => number = Date.now) {
  const { server, snapshot } = await startLostStep();
  const first = startStep(server);
  await first.client.handshake();
  server.requests.length = 0;
  breakWay(server);
  return {
    server,
    lost: snapshot,
    ...startStep(server, { snapshot: first.slot.snapshot!, now }),
    now,
  };
}

test("a 404 for the session and for a new one is no loss: the session is kept", async () => {
  const { client, server, slot, events } = await startBrokenStep();
  await expect(client.request("tools/call")).rejects.toMatchObject({
    // A gateway may have passed the call on.
    code: "OUTCOME_UNKNOWN",
    data: { status: 404, method: "tools/call" },
    message: expect.stringMatching(/:\d+ \(HTTP 404\): .*session is kept.*unknown/),
  });
  expect(server.log).toEqual(["POST tools/call", "POST initialize"]);
  expect(slot.snapshot).toMatchObject({ kind: "session", sessionId: "secret-session-2" });
  expect(events.map(({ type }) => type)).toEqual(["resumed", "lost", "restored"]);
  // A client's own handshake is answered from the session, and no client falls back to HTTP+SSE.
  expect(await client.handshake()).toMatchObject({ serverInfo: { name: "test-server" } });

  mendWay(server);
  expect(await client.request("tools/call")).toHaveProperty("result");
  expect(server.sessionIds).toHaveLength(2);
  expect(slot.snapshot).not.toHaveProperty("refusedSince");
  expect(slot.takeLossNotice()).toBe(false);
});

test("all calls of the moment are told so, after one initialize", async () => {
  const { client, server } = await startBrokenStep();
  const calls = Array.from({ length: 10 }, () => client.request("tools/call"));
  const outcomes = await Promise.allSettled(calls);
  for (const outcome of outcomes) {
    expect(outcome).toMatchObject({ reason: { code: "OUTCOME_UNKNOWN" } });
  }
  expect(server.log.filter((line) => line === "POST initialize")).toHaveLength(1);
});

test("a step within a minute keeps it too, and one after that gives it up for good", async () => {
  let time = 1_000_000;
  const now = () => time;
  const { client, server, slot } = await startBrokenStep(now);
  await expect(client.request("ping")).rejects.toMatchObject({ code: "CONNECTION_UNAVAILABLE" });
  time += 59_999;
  const second = startStep(server, { snapshot: slot.snapshot!, now });
  await expect(second.client.request("ping")).rejects.toMatchObject({
    code: "CONNECTION_UNAVAILABLE",
  });
  time += 1;
  const third = startStep(server, { snapshot: second.slot.snapshot!, now });
  await expect(third.client.request("ping")).rejects.toMatchObject({ code: "SESSION_LOST" });
  expect(third.slot.snapshot).toEqual({
    version: 1,
    kind: "sessionless",
    url: server.url,
    lost: {},
  });
  // Its client may find out what the server speaks, and fall back to HTTP+SSE.
  const fourth = startStep(server, { snapshot: third.slot.snapshot!, now });
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: {} };
  expect(await fourth.client.request("initialize", params)).toMatchObject({ status: 404 });
});

test("a step that goes on for longer than a minute keeps it", async () => {
  let time = 1_000_000;
  const { client, slot } = await startBrokenStep(() => time);
  for (const later of [0, 60_000, 3_600_000]) {
    time += later;
    await expect(client.request("tools/call")).rejects.toMatchObject({ code: "OUTCOME_UNKNOWN" });
  }
  expect(slot.snapshot).toMatchObject({ kind: "session", refusedSince: 1_000_000 });
});

test.each([null, "own"])("a 404 of MCP's own, with the id %s, gives it up", async (id) => {
  const { client, server, slot, events } = await startBrokenStep();
  const error = { code: -32_001, message: "Session not found" };
  server.use(({ message }, response) =>
    sendJson(response, 404, { jsonrpc: "2.0", id: id && message.id, error }),
  );
  await expect(client.request("tools/call")).rejects.toMatchObject({ code: "SESSION_LOST" });
  expect(slot.snapshot).toEqual({ version: 1, kind: "sessionless", url: server.url, lost: {} });
  expect(events.map(({ type }) => type)).toEqual(["resumed", "lost"]);
});

test.each([
  ["an empty", "", "OUTCOME_UNKNOWN"],
  ["a", "Session not found", "CONNECTION_UNAVAILABLE"],
])("after %s 404 for both, nothing more is claimed than is known: %j", async (_, said, code) => {
  const { client, server, slot } = await startBrokenStep();
  server.use((_request, response) => sendText(response, 404, said));
  const claimed = code === "OUTCOME_UNKNOWN" ? "is unknown" : "was not carried out";
  await expect(client.request("tools/call")).rejects.toMatchObject({
    ...{ code, message: expect.stringContaining(claimed) },
  });
  expect(slot.snapshot).toMatchObject({ kind: "session" });
});

test("a request that must not be sent again is told so as well", async () => {
  const { server, slot } = await startBrokenStep();
  const never = startStep(server, { snapshot: slot.snapshot!, recovery: { resend: "never" } });
  await expect(never.client.request("ping")).rejects.toMatchObject({
    code: "CONNECTION_UNAVAILABLE",
  });
  expect(never.slot.snapshot).toMatchObject({ kind: "session" });
});

test("a call that an earlier attempt may have carried out is not said to be undone", async () => {
  const { server, slot } = await startBrokenStep();
  server.use(({ message, headers }, response) => {
    const isCall = message?.method === "tools/call";
    const isFirst =
      isCall && server.requests.filter((one) => one.message?.method === "tools/call").length === 1;
    const said = headers["mcp-session-id"] && (isFirst || message?.method === "ping");
    return said
      ? sendText(response, 400, "session expired")
      : sendText(response, 404, "404 page not found");
  });
  const { client } = startStep(server, { snapshot: slot.snapshot! });
  await expect(client.request("tools/call")).rejects.toMatchObject({ code: "OUTCOME_UNKNOWN" });
});
