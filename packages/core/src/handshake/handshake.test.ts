import { describe, expect, test } from "vitest";
import { initialize, initialized } from "../../test/handshake-messages.ts";
import {
  eventText,
  initializeResult,
  sendResult,
  sendText,
  startEvents,
  startMcpServer,
} from "../../test/mcp-server.ts";
import { createRpcClient } from "../../test/rpc-client.ts";
import { startStep } from "../../test/step.ts";

describe("capture of the session id", () => {
  test("takes it from initialize and saves it once initialized was acknowledged", async () => {
    const server = await startMcpServer();
    const { client, slot, events } = startStep(server);
    const answer = await client.post(initialize);
    expect(await answer.json()).toEqual({ jsonrpc: "2.0", id: 0, result: initializeResult });
    expect(answer.headers.has("mcp-session-id")).toBe(false);
    expect(slot).toMatchObject({ snapshot: undefined, changed: false });
    expect((await client.post(initialized)).status).toBe(202);
    expect(slot).toMatchObject({
      changed: true,
      snapshot: {
        version: 1,
        kind: "session",
        url: server.url,
        sessionId: "secret-session-1",
        initializeResult,
        clientCapabilities: {},
      },
    });
    expect(events).toEqual([{ type: "started", protocolVersion: "2025-11-25", changed: false }]);
    expect(server.requests[1]?.headers).toMatchObject({
      "mcp-session-id": "secret-session-1",
      "mcp-protocol-version": "2025-11-25",
    });
  });

  test("takes it from initialize answered as SSE", async () => {
    const server = await startMcpServer(({ message }, response) => {
      if (message.method !== "initialize") return sendText(response, 202, "");
      startEvents(response, { "mcp-session-id": "from-sse" });
      response.write("id: 1\ndata:\n\n");
      response.write(eventText({ jsonrpc: "2.0", method: "notifications/message" }));
      // The stream stays open: the answer must not wait for its end.
      response.write(eventText({ jsonrpc: "2.0", id: message.id, result: initializeResult }));
    });
    const { client, slot } = startStep(server);
    expect(await client.handshake()).toEqual(initializeResult);
    expect(slot.snapshot).toMatchObject({ sessionId: "from-sse" });
  });

  test("ignores ids on refusals, and on the answer to notifications/initialized", async () => {
    const ids = { "mcp-session-id": "not-this-one" };
    const server = await startMcpServer(({ message }, response) => {
      if (message.method === "initialize" && server.requests.length === 1) {
        response.writeHead(500, ids).end("no");
      } else if (message.method === "initialize") {
        sendResult(response, message.id, initializeResult, { "mcp-session-id": "the-one" });
      } else if (message.id === undefined) response.writeHead(202, ids).end();
      else sendResult(response, message.id, {}, { "mcp-session-id": "the-one" });
    });
    const { client, slot } = startStep(server);
    const refused = await client.post(initialize);
    expect([refused.status, refused.headers.has("mcp-session-id")]).toEqual([500, false]);
    expect(slot.snapshot).toBeUndefined();
    await client.handshake();
    const answer = await client.post({ jsonrpc: "2.0", id: 2, method: "ping" });
    expect(answer.headers.has("mcp-session-id")).toBe(false);
    await client.request("ping");
    expect(slot.snapshot).toMatchObject({ sessionId: "the-one" });
    expect(server.requests.at(-1)?.headers["mcp-session-id"]).toBe("the-one");
  });

  test("ignores an answer to initialize that comes after everybody left", async () => {
    const server = await startMcpServer();
    const letGo = Promise.withResolvers<void>();
    let isFirst = true;
    const { client, slot } = startStep(server, {
      // A fetch that does not heed signals, as some wrappers do not.
      fetch: async (input, init) => {
        const isHeld = isFirst;
        isFirst = false;
        const response = await globalThis.fetch(input, { ...init, signal: null });
        if (isHeld) await letGo.promise;
        return response;
      },
    });
    const controller = new AbortController();
    const left = client.post(initialize, { signal: controller.signal });
    await expect.poll(() => server.log).toEqual(["POST initialize"]);
    controller.abort(new Error("left"));
    await expect(left).rejects.toThrow("left");
    await client.post(initialize);
    letGo.resolve();
    await new Promise((resolve) => {
      setTimeout(resolve, 20);
    });
    await client.post(initialized);
    expect(slot.snapshot).toMatchObject({ sessionId: "secret-session-2" });
  });

  test("is not saved again by an acknowledgement that comes after its caller has left", async () => {
    const server = await startMcpServer();
    const letGo = Promise.withResolvers<void>();
    const saved: string[] = [];
    let isFirst = true;
    const { client, slot } = startStep(server, {
      onSession: ({ sessionId }) => void saved.push(sessionId),
      // A fetch that does not heed signals, as some wrappers do not.
      fetch: async (input, init) => {
        const isHeld = isFirst && JSON.stringify(init?.body).includes(initialized.method);
        if (isHeld) isFirst = false;
        const response = await globalThis.fetch(input, { ...init, signal: null });
        if (isHeld) await letGo.promise;
        return response;
      },
    });
    await client.post(initialize);
    const controller = new AbortController();
    const left = client.post(initialized, { signal: controller.signal });
    await expect.poll(() => server.log).toContain("POST notifications/initialized");
    controller.abort(new Error("left"));
    await expect(left).rejects.toThrow("left");
    await client.post(initialized);
    server.forgetSessions();
    await client.request("tools/call");
    letGo.resolve();
    await new Promise((resolve) => {
      setTimeout(resolve, 20);
    });
    expect(saved).toEqual(["secret-session-1", "secret-session-2"]);
    expect(slot.snapshot).toMatchObject({ sessionId: "secret-session-2" });
  });
});

test("keeps no session of a server that names none, but its handshake, and says so", async () => {
  const server = await startMcpServer(({ message }, response) => {
    if (message.id === undefined) sendText(response, 202, "");
    else sendResult(response, message.id, message.method === "initialize" ? initializeResult : {});
  });
  const first = startStep(server);
  await first.client.handshake();
  expect(first.slot.snapshot).toMatchObject({ kind: "sessionless", initializeResult });
  expect(first.events).toEqual([{ type: "sessionless", protocolVersion: "2025-11-25" }]);
  // The next step goes on with it, and has nothing new to save.
  const second = startStep(server, { snapshot: first.slot.snapshot! });
  await second.client.handshake();
  await second.client.request("ping");
  expect(second.slot.changed).toBe(false);
  expect(server.log.slice(2)).toEqual(["POST ping"]);
  const last = server.requests.at(-1)?.headers;
  expect(last).toMatchObject({ "mcp-protocol-version": "2025-11-25" });
  expect(last).not.toHaveProperty("mcp-session-id");
});

test("initialized carries the negotiated version, not the one the client offered", async () => {
  const server = await startMcpServer(({ message }, response) => {
    if (message.method !== "initialize") return sendText(response, 202, "");
    const result = { ...initializeResult, protocolVersion: "2025-03-26" };
    sendResult(response, message.id, result, { "mcp-session-id": "old" });
  });
  const client = createRpcClient(startStep(server).fetch, server.url, {
    "mcp-protocol-version": "2025-11-25",
  });
  await client.handshake();
  expect(server.requests[0]?.headers).not.toHaveProperty("mcp-protocol-version");
  expect(server.requests[1]?.headers["mcp-protocol-version"]).toBe("2025-03-26");
});

describe("a refused handshake", () => {
  test.each([400, 401, 404, 405, 500])("of a fresh slot reaches the client: %i", async (status) => {
    const server = await startMcpServer((_, response) => sendText(response, status, "no"));
    const { client, slot } = startStep(server);
    const response = await client.post(initialize);
    expect([response.status, await response.text()]).toEqual([status, "no"]);
    expect(slot).toMatchObject({ snapshot: undefined, changed: false });
  });

  test.each([400, 404, 405])("at initialized is CONNECTION_UNAVAILABLE: %i", async (status) => {
    const server = await startMcpServer(({ message }, response, next) =>
      message.method === "initialize" ? next() : sendText(response, status, "no"),
    );
    const { client, slot } = startStep(server);
    await client.post(initialize);
    await expect(client.post(initialized)).rejects.toMatchObject({
      code: "CONNECTION_UNAVAILABLE",
      data: { method: "notifications/initialized", status },
    });
    expect(slot.snapshot).toBeUndefined();
  });

  test("saves nothing when initialized is refused", async () => {
    const server = await startMcpServer(({ message }, response, next) =>
      message.method === "initialize" ? next() : sendText(response, 401, "who?"),
    );
    const { client, slot, events } = startStep(server);
    await client.post(initialize);
    expect((await client.post(initialized)).status).toBe(401);
    expect(slot.snapshot).toBeUndefined();
    expect(events).toEqual([]);
  });

  test.each([
    [
      "a result of a revision without sessions",
      { ...initializeResult, protocolVersion: "2026-07-28" },
    ],
    ["a result without serverInfo", { ...initializeResult, serverInfo: undefined }],
  ])("saves nothing for %s", async (_, result) => {
    const server = await startMcpServer(({ message }, response) => {
      if (message?.method === "initialize") {
        sendResult(response, message.id, result, { "mcp-session-id": "not-this-one" });
      } else sendText(response, 202, "");
    });
    const { client, slot } = startStep(server);
    expect(await (await client.post(initialize)).json()).toMatchObject({ id: 0 });
    await client.post(initialized).catch(() => undefined);
    expect(slot.snapshot).toBeUndefined();
  });

  test("with an empty answer is an error under the client's id", async () => {
    const server = await startMcpServer((_, response) => void response.writeHead(200).end());
    const answer = await startStep(server).client.post(initialize);
    expect(await answer.json()).toMatchObject({ id: 0, error: { code: -32000 } });
  });
});

test("makes one session for requests that need one at the same time", async () => {
  const server = await startMcpServer();
  const { client, fetch } = startStep(server);
  const other = createRpcClient(fetch, server.url);
  await Promise.all([
    client.handshake(),
    other.handshake(),
    client.request("ping"),
    other.request("ping"),
  ]);
  expect(server.log.filter((entry) => entry === "POST initialize")).toHaveLength(1);
  expect(server.log.filter((entry) => entry === "POST notifications/initialized")).toHaveLength(1);
});

test("saves a session once, also when the client that made it leaves during the save", async () => {
  const server = await startMcpServer();
  const saving = Promise.withResolvers<void>();
  let saves = 0;
  const { client, slot, events } = startStep(server, {
    onSession: async () => {
      saves += 1;
      await saving.promise;
    },
  });
  await client.post(initialize);
  const controller = new AbortController();
  const leaving = client.post(initialized, { signal: controller.signal });
  await expect.poll(() => saves).toBe(1);
  controller.abort(new Error("left"));
  await expect(leaving).rejects.toThrow("left");
  const staying = client.post(initialized);
  saving.resolve();
  expect((await staying).status).toBe(202);
  await slot.settle();
  expect(saves).toBe(1);
  expect(events).toEqual([{ type: "started", protocolVersion: "2025-11-25", changed: false }]);
  expect(server.log).toEqual(["POST initialize", "POST notifications/initialized"]);
});

test("settles when no handshake is under way", async () => {
  const server = await startMcpServer();
  const { client, slot } = startStep(server);
  const answering = Promise.withResolvers<void>();
  server.use(async ({ message }, _response, next) => {
    if (message?.method === "initialize") await answering.promise;
    next();
  });
  await slot.settle();
  const call = client.request("tools/call");
  await expect.poll(() => server.log.length).toBe(1);
  let isSettled = false;
  const settled = slot.settle().then(() => (isSettled = true));
  await new Promise((resolve) => {
    setTimeout(resolve, 20);
  });
  expect(isSettled).toBe(false);
  answering.resolve();
  await Promise.all([settled, call]);
  expect(slot.snapshot).toMatchObject({ kind: "session" });
});
