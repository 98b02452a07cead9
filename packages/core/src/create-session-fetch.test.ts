import { describe, expect, test } from "vitest";
import { sendJson, sendText, startMcpServer } from "../test/mcp-server.ts";
import { readMessages } from "../test/rpc-client.ts";
import { saveSession, sessionSnapshot, startStep } from "../test/step.ts";
import { createSessionFetch } from "./create-session-fetch.ts";
import { createSessionSlot } from "./session/session-slot.ts";

test.each(["/mcp", "", "ftp://host/mcp", "file:///mcp", "mcp", "http://u:p@host/mcp"])(
  "refuses %j for a url",
  (url) => {
    expect(() => createSessionFetch({ url, slot: createSessionSlot() })).toThrow(
      expect.objectContaining({ code: "CONNECTION_INVALID", data: { field: "url" } }),
    );
  },
);

test("resumes with one request for one call, and says so once", async () => {
  const server = await startMcpServer();
  const snapshot = await saveSession(server);
  const { client, events, slot } = startStep(server, { snapshot });
  expect(await client.handshake()).toEqual(snapshot.initializeResult);
  expect(await client.request("tools/call", { name: "echo", arguments: { a: 1 } })).toEqual({
    jsonrpc: "2.0",
    id: 1,
    result: { content: [{ type: "text", text: '{"a":1}' }] },
  });
  expect(server.log).toEqual(["POST tools/call"]);
  expect(server.requests[0]?.headers).toMatchObject({
    "mcp-session-id": snapshot.sessionId,
    "mcp-protocol-version": "2025-11-25",
  });
  await client.request("ping");
  expect(events).toEqual([{ type: "resumed", protocolVersion: "2025-11-25" }]);
  expect(slot).toMatchObject({ snapshot, changed: false });
});

test("sends the slot's id and version, whatever the client set", async () => {
  const server = await startMcpServer();
  const snapshot = await saveSession(server);
  const { client } = startStep(server, { snapshot });
  const headers = {
    "content-type": "application/json",
    "mcp-session-id": "adopted",
    "mcp-protocol-version": "2024-11-05",
    authorization: "Bearer t",
  };
  await client.request("ping", undefined, { headers });
  expect(server.requests[0]?.headers).toMatchObject({
    "mcp-session-id": snapshot.sessionId,
    "mcp-protocol-version": "2025-11-25",
    authorization: "Bearer t",
  });
});

test("answers a DELETE locally, so that closing a client does not end the session", async () => {
  const server = await startMcpServer();
  const { fetch, slot } = startStep(server, { snapshot: await saveSession(server) });
  for (const method of ["DELETE", "delete"]) {
    expect((await fetch(server.url, { method })).status).toBe(204);
  }
  expect(server.requests).toEqual([]);
  expect(slot.changed).toBe(false);
});

test("never uses a snapshot for another URL", async () => {
  const server = await startMcpServer();
  for (const url of [
    `${server.origin}/other`,
    `${server.url}?a`,
    `${server.url}/`,
    "http://other/mcp",
  ]) {
    const { client, events, slot } = startStep(server, { snapshot: sessionSnapshot(url) });
    // What the session kept is gone, and somebody has to be told.
    expect(slot.snapshot).toEqual({ version: 1, kind: "sessionless", url: server.url, lost: {} });
    expect(events).toEqual([{ type: "discarded", reason: "url" }]);
    await client.handshake();
    expect(slot.snapshot).toMatchObject({ url: server.url });
  }
  expect(
    server.requests.every(({ headers }) => headers["mcp-session-id"] !== "secret-session"),
  ).toBe(true);
});

test("refuses a slot that is in use for another URL, so that no id goes there", async () => {
  const server = await startMcpServer();
  const { slot } = startStep(server);
  startStep(server);
  createSessionFetch({ url: server.url, slot });
  expect(() => createSessionFetch({ url: `${server.url}/other`, slot })).toThrow(
    expect.objectContaining({ code: "CONNECTION_INVALID" }),
  );
});

test("sends its own messages with what the client passes to fetch beside the request", async () => {
  const server = await startMcpServer();
  const seen: [string, RequestInit | undefined][] = [];
  const { client } = startStep(server, {
    snapshot: await saveSession(server),
    fetch: (input, init) => {
      seen.push([JSON.parse(init?.body as string).method, init]);
      return fetch(input, init);
    },
  });
  server.forgetSessions();
  await client.request("tools/call", {}, { credentials: "include", keepalive: false });
  expect(seen.map(([method, init]) => [method, init?.credentials, init?.keepalive])).toEqual(
    ["tools/call", "initialize", "notifications/initialized", "tools/call"].map((method) => [
      method,
      "include",
      false,
    ]),
  );
});

test("takes a 404 with another meaning as no loss, also when scrubbing would garble its code", async () => {
  const server = await startMcpServer(({ message }, response) =>
    sendJson(response, 404, {
      jsonrpc: "2.0",
      id: message.id,
      error: { code: -32601, message: "Method not found" },
    }),
  );
  const snapshot = sessionSnapshot(server.url, { sessionId: "1" });
  const { client, slot } = startStep(server, { snapshot });
  expect(await client.request("nope")).toMatchObject({ error: { code: -32601 } });
  expect(slot.changed).toBe(false);
});

describe("request inputs", () => {
  const message = { jsonrpc: "2.0", id: "a", method: "tools/call", params: { arguments: "ä" } };
  const text = JSON.stringify(message);
  const headers = { "content-type": "application/json", "x-own": "1" };

  test.each<[string, (url: string) => Parameters<typeof fetch>]>([
    ["text", (url) => [url, { method: "POST", headers, body: text }]],
    ["a URL", (url) => [new URL(url), { method: "POST", headers, body: text }]],
    ["a URL with a fragment", (url) => [`${url}#a`, { method: "POST", headers, body: text }]],
    ["bytes", (url) => [url, { method: "POST", headers, body: new TextEncoder().encode(text) }]],
    [
      "an ArrayBuffer",
      (url) => [url, { method: "POST", headers, body: new TextEncoder().encode(text).buffer }],
    ],
    ["a Request", (url) => [new Request(url, { method: "POST", headers, body: text })]],
    [
      "a Request and init",
      (url) => [
        new Request(url, { method: "PUT", body: "no" }),
        { method: "POST", headers, body: text },
      ],
    ],
  ])("takes a request given as %s", async (_, input) => {
    const server = await startMcpServer();
    const { fetch } = startStep(server, { snapshot: await saveSession(server) });
    const response = await fetch(...input(server.url));
    expect(await readMessages(response)).toEqual([
      { jsonrpc: "2.0", id: "a", result: { content: [{ type: "text", text: '"ä"' }] } },
    ]);
    expect(server.requests).toMatchObject([{ method: "POST", headers: { "x-own": "1" } }]);
    expect(server.requests[0]?.message.id).not.toBe("a");
  });
});

describe("a body that is no single JSON-RPC message", () => {
  const batch = [{ jsonrpc: "2.0", id: 0, method: "ping" }];
  test.each([
    ["a batch", JSON.stringify(batch)],
    ["text", "hello"],
    ["JSON that is no JSON-RPC", '{"id":0,"method":"ping"}'],
    ["nothing", undefined],
  ])("passes through on the session as it is: %s", async (_, body) => {
    const server = await startMcpServer();
    const snapshot = await saveSession(server);
    const { fetch } = startStep(server, { snapshot });
    server.use(({ message }, response) =>
      sendJson(response, 200, [{ jsonrpc: "2.0", id: message?.[0]?.id, result: {} }], {
        "mcp-session-id": "another",
      }),
    );
    const response = await fetch(server.url, { method: "POST", ...(body && { body }) });
    expect(await response.json()).toEqual([
      { jsonrpc: "2.0", id: body?.startsWith("[") ? 0 : undefined, result: {} },
    ]);
    expect(response.headers.has("mcp-session-id")).toBe(false);
    expect(server.requests).toMatchObject([
      { body: body ?? "", headers: { "mcp-session-id": snapshot.sessionId } },
    ]);
  });

  test("is not sent again after a 404, and the error names no id", async () => {
    const server = await startMcpServer();
    const snapshot = await saveSession(server);
    const { client } = startStep(server, { snapshot });
    server.use(({ headers }, response) =>
      sendText(response, 404, `no session ${String(headers["mcp-session-id"])}`),
    );
    const response = await client.post(batch);
    expect(response.status).toBe(404);
    expect(await response.text()).toBe("no session [session id]");
    expect(server.requests).toHaveLength(1);
  });
});

test("does not let an observer that throws disturb anything", async () => {
  const server = await startMcpServer();
  const { client, slot } = startStep(server, {
    onEvent: () => {
      throw new Error("observer");
    },
  });
  await client.handshake();
  expect(slot.snapshot).toMatchObject({ kind: "session" });
});

test("lets go of an aborted request also when the base fetch does not heed signals", async () => {
  const server = await startMcpServer();
  const snapshot = await saveSession(server);
  const { client } = startStep(server, { snapshot, fetch: () => new Promise(() => {}) });
  const signal = AbortSignal.timeout(20);
  await expect(client.request("ping", undefined, { signal })).rejects.toThrow(/timeout/i);
});

test("refuses an aborted request before anything is sent", async () => {
  const server = await startMcpServer();
  const { client } = startStep(server, { snapshot: await saveSession(server) });
  const signal = AbortSignal.abort(new Error("before"));
  for (const method of ["ping", "initialize", "server/discover"]) {
    await expect(client.request(method, undefined, { signal })).rejects.toThrow("before");
  }
  expect(server.requests).toEqual([]);
});
