import { describe, expect, test, vi } from "vitest";
import { methodNotFound, probe, probeHeaders } from "../../test/handshake-messages.ts";
import {
  initializeResult,
  sendJson,
  sendResult,
  sendText,
  startMcpServer,
} from "../../test/mcp-server.ts";
import { createRpcClient } from "../../test/rpc-client.ts";
import { saveSession, sessionSnapshot, startStep } from "../../test/step.ts";

describe("a fresh handshake", () => {
  test("sends initialize without an id, even if the client sent one", async () => {
    const server = await startMcpServer();
    const client = createRpcClient(startStep(server).fetch, server.url, {
      "mcp-session-id": "of-old",
      authorization: "Bearer t",
    });
    expect(await client.handshake({ capabilities: { sampling: {} } })).toEqual(initializeResult);
    const [first, second] = server.requests;
    expect(first?.headers).not.toHaveProperty("mcp-session-id");
    expect(first?.headers).toMatchObject({
      authorization: "Bearer t",
      accept: "application/json, text/event-stream",
    });
    expect(first?.message.params).toEqual({
      protocolVersion: "2025-11-25",
      capabilities: { sampling: {} },
      clientInfo: { name: "test-client", version: "1" },
    });
    expect(second?.headers["mcp-session-id"]).toBe("secret-session-1");
  });

  test("gives a refusal back under the client's id", async () => {
    const server = await startMcpServer(({ message }, response) => {
      sendJson(response, 400, {
        jsonrpc: "2.0",
        id: message.id,
        error: { code: -32600, message: "no" },
      });
    });
    const { client } = startStep(server);
    expect(await client.request("initialize", {}, { id: "own" })).toMatchObject({
      id: "own",
      error: { code: -32600 },
    });
  });
});

describe("a resumed handshake", () => {
  test("sends nothing: probe, initialize and initialized are answered locally", async () => {
    const server = await startMcpServer();
    const snapshot = await saveSession(server);
    const { client, slot } = startStep(server, { snapshot });
    expect(await (await client.post(probe)).json()).toEqual(methodNotFound);
    expect(await client.handshake()).toEqual(snapshot.initializeResult);
    expect(
      (await client.post({ jsonrpc: "2.0", method: "notifications/initialized" })).status,
    ).toBe(202);
    expect(server.requests).toEqual([]);
    expect(slot).toMatchObject({ snapshot, changed: false });
  });

  test("gives a session up that is newer than the client, ends it, and makes an older one", async () => {
    const server = await startMcpServer(({ message }, response) => {
      if (message?.method !== "initialize") return sendText(response, 202, "");
      const { protocolVersion } = message.params;
      sendResult(
        response,
        message.id,
        { ...initializeResult, protocolVersion },
        { "mcp-session-id": "older" },
      );
    });
    const { client, slot, events } = startStep(server, { snapshot: sessionSnapshot(server.url) });
    const result = await client.handshake({ protocolVersion: "2025-03-26" });
    expect(result.protocolVersion).toBe("2025-03-26");
    expect(slot.snapshot).toMatchObject({ sessionId: "older" });
    // Not "resumed": it was not used.
    expect(events).toEqual([
      { type: "discarded", reason: "protocol-version" },
      { type: "recovered", protocolVersion: "2025-03-26", changed: false },
    ]);
    await vi.waitFor(() => expect(server.requests).toHaveLength(3));
    const onOld = server.requests.filter(
      ({ headers }) => headers["mcp-session-id"] === "secret-session",
    );
    expect(onOld).toMatchObject([{ method: "DELETE" }]);
  });

  test("does not take a session from the client that uses it when an older one comes", async () => {
    const server = await startMcpServer();
    const { client, fetch, slot } = startStep(server, { snapshot: await saveSession(server) });
    await client.handshake();
    const older = createRpcClient(fetch, server.url);
    const result = await older.handshake({ protocolVersion: "2025-03-26" });
    expect(result.protocolVersion).toBe("2025-11-25");
    expect([server.requests, slot.changed]).toEqual([[], false]);
  });

  test.each(["2025-11-25", "2026-07-28"])(
    "keeps a session for a client of %s",
    async (protocolVersion) => {
      const server = await startMcpServer();
      const { client } = startStep(server, { snapshot: await saveSession(server) });
      expect(await client.handshake({ protocolVersion })).toEqual(initializeResult);
      expect(server.requests).toEqual([]);
    },
  );
});

describe("a probe on a fresh slot", () => {
  test("makes the session with what the probe says of the client", async () => {
    const server = await startMcpServer();
    const { client, slot } = startStep(server);
    const answer = await client.post(probe, {
      headers: { ...probeHeaders, authorization: "Bearer t" },
    });
    expect([answer.status, await answer.json()]).toEqual([200, methodNotFound]);
    expect(server.log).toEqual(["POST initialize"]);
    expect(server.requests[0]?.message.params).toEqual({
      protocolVersion: "2025-11-25",
      capabilities: { elicitation: {} },
      clientInfo: { name: "modern", version: "3" },
    });
    const { headers } = server.requests[0]!;
    expect(headers["authorization"]).toBe("Bearer t");
    expect(headers).not.toHaveProperty("mcp-protocol-version");
    expect(headers).not.toHaveProperty("mcp-method");

    expect(await client.handshake()).toEqual(initializeResult);
    expect(server.log).toEqual(["POST initialize", "POST notifications/initialized"]);
    expect(slot.snapshot).toMatchObject({
      kind: "session",
      clientCapabilities: { elicitation: {} },
    });
  });

  test("does without what the probe does not say", async () => {
    const server = await startMcpServer();
    await startStep(server).client.post({ jsonrpc: "2.0", id: 0, method: "server/discover" });
    expect(server.requests[0]?.message.params).toMatchObject({
      capabilities: {},
      clientInfo: { name: expect.any(String), version: expect.any(String) },
    });
  });

  test.each([
    [401, 1],
    [403, 1],
    // A server without time for it is asked once more.
    [429, 2],
    [503, 2],
  ])("shows the client a %i to the initialize it prompted", async (status, times) => {
    const server = await startMcpServer((_, response) => sendText(response, status, "no"));
    const { client, slot } = startStep(server);
    expect((await client.post(probe)).status).toBe(status);
    expect(server.log).toEqual(Array.from({ length: times }, () => "POST initialize"));
    expect(slot.snapshot).toBeUndefined();
  });

  test("goes on to the server when initialize is refused otherwise", async () => {
    const server = await startMcpServer(({ message }, response) =>
      message.method === "initialize"
        ? sendText(response, 400, "no")
        : sendResult(response, message.id, { seen: true }),
    );
    const { client, slot } = startStep(server);
    expect(await (await client.post(probe)).json()).toMatchObject({
      id: "p",
      result: { seen: true },
    });
    expect(server.log).toEqual(["POST initialize", "POST server/discover"]);
    expect(slot.snapshot).toBeUndefined();
  });
});
