import { describe, expect, test } from "vitest";
import { methodNotFound, probe, probeHeaders } from "../../test/handshake-messages.ts";
import { sendJson, startMcpServer, type TestMcpServer } from "../../test/mcp-server.ts";
import { sessionSnapshot, startStep } from "../../test/step.ts";
import type { McpSessionError } from "../base/mcp-session-error.ts";
import type { SessionSnapshot } from "../session/session-snapshot.ts";

const day = 86_400_000;

const refusal = (supported?: unknown) => ({
  code: -32022,
  message: "Unsupported protocol version",
  ...(supported !== undefined && { data: { supported } }),
});

/** Answers what is of its era with what it got, and refuses `initialize`. */
const startModernServer = (supported: unknown = ["2026-07-28"], status = 400) =>
  startMcpServer(({ message }, response) => {
    if (message?.method === "initialize") {
      sendJson(response, status, { jsonrpc: "2.0", id: message.id, error: refusal(supported) });
    } else sendJson(response, 200, { jsonrpc: "2.0", id: message?.id, result: {} });
  });

const startLaterStep = (server: TestMcpServer, snapshot: SessionSnapshot, now: number) =>
  startStep(server, { snapshot, now: () => now });

describe("a server that only speaks revisions without sessions", () => {
  test.each([
    ["400", ["2026-07-28"], 400],
    ["400, without a list", undefined, 400],
    ["200", ["2026-07-28", "2027-01-01"], 200],
  ])(
    "is remembered as one by its refusal with %s, and the probe goes to it",
    async (_, supported, status) => {
      const server = await startModernServer(supported, status);
      const { client, slot, events } = startStep(server, { now: () => 5 });
      const answer = await client.post(probe, { headers: probeHeaders });
      expect(await answer.json()).toMatchObject({ id: "p", result: {} });
      expect(server.log).toEqual(["POST initialize", "POST server/discover"]);
      expect(server.requests[1]).toMatchObject({ message: probe, headers: probeHeaders });
      expect(slot.snapshot).toEqual({
        version: 1,
        kind: "stateless",
        url: server.url,
        decidedAt: 5,
      });
      expect(events).toEqual([{ type: "stateless" }]);
    },
  );

  test("is not one if it also supports a revision with sessions", async () => {
    const server = await startModernServer(["2026-07-28", "2025-03-26"]);
    const { client, slot } = startStep(server);
    await client.post(probe);
    expect(slot.snapshot).toBeUndefined();
  });

  test("gets everything as it is in later steps, the probe, GET and DELETE too", async () => {
    const server = await startModernServer();
    const snapshot: SessionSnapshot = {
      version: 1,
      kind: "stateless",
      url: server.url,
      decidedAt: 0,
    };
    const { client, fetch, slot, events } = startLaterStep(server, snapshot, day);
    const call = {
      jsonrpc: "2.0",
      id: 4,
      method: "tools/call",
      params: probe.params,
    };
    for (const message of [probe, call]) await client.post(message, { headers: probeHeaders });
    await fetch(server.url);
    await fetch(server.url, { method: "DELETE" });
    expect(server.log).toEqual(["POST server/discover", "POST tools/call", "GET", "DELETE"]);
    expect(server.requests[1]).toMatchObject({ message: call, headers: probeHeaders });
    expect(slot.changed).toBe(false);
    expect(events).toEqual([]);
  });

  test.each([
    ["old", -day - 1],
    ["of the future", 1],
  ])("is tried again when the verdict is %s", async (_, decidedAt) => {
    const server = await startMcpServer();
    const snapshot: SessionSnapshot = { version: 1, kind: "stateless", url: server.url, decidedAt };
    const { client, slot } = startLaterStep(server, snapshot, 0);
    expect(await (await client.post(probe)).json()).toEqual(methodNotFound);
    await client.handshake();
    expect(slot.snapshot).toMatchObject({ kind: "session" });
  });

  test("is remembered for a day", async () => {
    const server = await startModernServer();
    const snapshot: SessionSnapshot = {
      version: 1,
      kind: "stateless",
      url: server.url,
      decidedAt: 0,
    };
    const { client, slot } = startStep(server, { snapshot, now: () => day + 1 });
    await client.post(probe);
    expect(server.log).toEqual(["POST initialize", "POST server/discover"]);
    expect(slot.snapshot).toMatchObject({ decidedAt: day + 1 });
  });

  test("does not fail a call of its era when the verdict grows old in the middle of a step", async () => {
    const server = await startModernServer();
    let now = 0;
    const { client } = startStep(server, { now: () => now });
    await client.post(probe);
    now = 2 * day;
    const answer = await client.request("tools/call", probe.params, { headers: probeHeaders });
    expect(answer).toMatchObject({ result: {} });
  });

  test("cannot be used by a client that never probes", async () => {
    const server = await startModernServer();
    const { client, slot } = startStep(server);
    await expect(client.handshake()).rejects.toMatchObject({
      code: "CONNECTION_UNAVAILABLE",
      data: { reason: "other-era", method: "initialize", origin: server.origin },
    });
    expect(slot.snapshot).toMatchObject({ kind: "stateless" });
    // In later steps too, where the verdict is known.
    const later = startStep(server, { snapshot: slot.snapshot! });
    await expect(later.client.handshake()).rejects.toMatchObject({
      code: "CONNECTION_UNAVAILABLE",
      data: { reason: "other-era" },
    });
  });
});

test.each([true, false])("a lost session leaves its notice, saved as lost: %s", async (isSaved) => {
  const server = await startModernServer();
  const lost = { version: 1, kind: "sessionless", url: server.url, lost: {} } as const;
  const snapshot = isSaved ? lost : sessionSnapshot(server.url);
  server.use(({ headers, message }, response) =>
    headers["mcp-session-id"] !== undefined
      ? sendJson(response, 404, { error: "Session not found" })
      : sendJson(response, 400, { jsonrpc: "2.0", id: message.id, error: refusal() }),
  );
  const { client, slot } = startStep(server, { snapshot });
  const seen = isSaved
    ? (await client.post(probe, { headers: probeHeaders })).status
    : await client.request("tools/call").catch(({ data }: McpSessionError) => data.reason);
  expect(seen).toBe(isSaved ? 400 : "other-era");
  expect(slot.snapshot).toMatchObject({ kind: "stateless" });
  expect(slot.takeLossNotice()).toBe(true);
  expect(slot.takeLossNotice()).toBe(false);
});
