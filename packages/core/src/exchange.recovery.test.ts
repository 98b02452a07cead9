import { describe, expect, test } from "vitest";
import { sendJson, sendResult, sendText, startMcpServer, type TestMcpServer } from "../test/mcp-server.ts";
import { createRpcClient, readMessages } from "../test/rpc-client.ts";
import { saveSession, startStep } from "../test/step.ts";

const call = (id: unknown = 0) => ({ jsonrpc: "2.0", id, method: "tools/call", params: { arguments: id } });
const recovery = ["POST initialize", "POST notifications/initialized"];

/** A resumed step on a server that has forgotten the session. */
async function startLostStep(options: Parameters<typeof startStep>[1] = {}) {
  const server = await startMcpServer();
  const snapshot = await saveSession(server);
  server.forgetSessions();
  return { ...startStep(server, { snapshot, ...options }), server, snapshot };
}

/** Refuses `initialize` with this status and text; everything else is left to the server. */
function refuseInitialize(server: TestMcpServer, status: number, body = "no") {
  server.use(({ message }, response) =>
    message?.method === "initialize" ? sendText(response, status, body) : "next",
  );
}

describe("a 404 on the session", () => {
  test("starts a new session once and sends the call again on it", async () => {
    const { client, server, snapshot, slot, events } = await startLostStep();
    await client.handshake({
      capabilities: { roots: {} },
      clientInfo: { name: "own", version: "2" },
    });
    expect(await client.request("tools/call", { arguments: 1 })).toMatchObject({
      result: { content: [{ text: "1" }] },
    });
    expect(server.log).toEqual(["POST tools/call", ...recovery, "POST tools/call"]);
    expect(server.requests.map(({ headers }) => headers["mcp-session-id"])).toEqual([
      snapshot.sessionId,
      undefined,
      "secret-session-2",
      "secret-session-2",
    ]);
    // The client's own parameters, and no id used twice.
    expect(server.requests[1]?.message.params).toEqual({
      protocolVersion: "2025-11-25",
      capabilities: { roots: {} },
      clientInfo: { name: "own", version: "2" },
    });
    expect(server.requests[0]?.message.id).not.toBe(server.requests[3]?.message.id);
    expect(slot).toMatchObject({
      changed: true,
      snapshot: { sessionId: "secret-session-2", clientCapabilities: { roots: {} } },
    });
    expect(events.slice(1)).toEqual([
      { type: "lost", method: "tools/call", status: 404 },
      { type: "recovered", protocolVersion: "2025-11-25", changed: false },
    ]);
    expect(JSON.stringify(events)).not.toContain("secret-session");
  });

  test("is recovered for a client that resumed by itself, with the saved capabilities", async () => {
    const server = await startMcpServer();
    const first = startStep(server);
    await first.client.handshake({ capabilities: { sampling: {} } });
    server.forgetSessions();
    server.requests.length = 0;
    const { client } = startStep(server, { snapshot: first.slot.snapshot! });
    await client.request("ping");
    expect(server.requests[1]?.message.params).toMatchObject({
      protocolVersion: "2025-11-25",
      capabilities: { sampling: {} },
      clientInfo: { name: expect.any(String), version: expect.any(String) },
    });
  });

  test("shares one new session among twenty requests, each sent again exactly once", async () => {
    const { client, server, events } = await startLostStep();
    const numbers = Array.from({ length: 20 }, (_, n) => n);
    const answers = await Promise.all(
      numbers.map((n) => client.request("tools/call", { arguments: n }, { id: n })),
    );
    expect(answers.map(({ result }) => result.content[0].text)).toEqual(numbers.map(String));
    const { log, requests } = server;
    expect(log.filter((entry) => entry === "POST initialize")).toHaveLength(1);
    expect(log.filter((entry) => entry === "POST notifications/initialized")).toHaveLength(1);
    const calls = requests.filter(({ message }) => message.method === "tools/call");
    const onNewSession = calls.filter(({ headers }) => headers["mcp-session-id"] === "secret-session-2");
    expect(onNewSession.map(({ message }) => message.params.arguments).toSorted((a, b) => a - b)).toEqual(numbers);
    expect(calls.length).toBeLessThanOrEqual(40);
    expect(new Set(calls.map(({ message }) => message.id)).size).toBe(calls.length);
    expect(events.filter(({ type }) => type === "lost")).toHaveLength(1);
    expect(events.filter(({ type }) => type === "recovered")).toHaveLength(1);
  });

  test("that comes late does not clear the session that took the lost one's place", async () => {
    const { client, server, slot } = await startLostStep();
    const late = Promise.withResolvers<void>();
    server.use(async ({ message, headers }) => {
      if (message?.params?.arguments === "late" && headers["mcp-session-id"] === "secret-session-1") {
        await late.promise;
      }
      return "next";
    });
    const answer = client.request("tools/call", { arguments: "late" });
    await client.request("tools/call", { arguments: "first" });
    late.resolve();
    expect(await answer).toMatchObject({ result: { content: [{ text: '"late"' }] } });
    expect(server.sessionIds).toHaveLength(2);
    expect(slot.snapshot).toMatchObject({ sessionId: "secret-session-2" });
  });

  test("says when the new session negotiated something else, and sends its version", async () => {
    const { client, server, events } = await startLostStep();
    const older = {
      protocolVersion: "2025-06-18",
      capabilities: { tools: {} },
      serverInfo: { name: "s", version: "2" },
    };
    server.use(({ message, headers }, response) => {
      if (message.method === "initialize") {
        sendResult(response, message.id, older, { "mcp-session-id": "new" });
      } else if (headers["mcp-session-id"] !== "new") {
        sendText(response, 404, "Session not found");
      } else if (message.id === undefined) {
        sendText(response, 202, "");
      } else sendResult(response, message.id, {});
    });
    await client.post(call());
    expect(events.at(-1)).toEqual({ type: "recovered", protocolVersion: "2025-06-18", changed: true });
    expect(server.requests.map(({ headers }) => headers["mcp-protocol-version"])).toEqual([
      "2025-11-25",
      undefined,
      "2025-06-18",
      "2025-06-18",
    ]);
  });
});

describe("a second loss in a row", () => {
  test("is SESSION_LOST and no answer", async () => {
    const { client, server, slot, events } = await startLostStep();
    server.use(({ message }, response) =>
      message?.method === "tools/call" ? sendText(response, 404, "Session not found") : "next",
    );
    await expect(client.post(call())).rejects.toMatchObject({
      code: "SESSION_LOST",
      data: { method: "tools/call", origin: server.origin, status: 404 },
    });
    expect(server.log).toEqual(["POST tools/call", ...recovery, "POST tools/call"]);
    expect(slot.snapshot).toBeUndefined();
    expect(events.map(({ type }) => type)).toEqual(["resumed", "lost", "recovered", "lost"]);
  });

  test("names no session id", async () => {
    const { client, server } = await startLostStep();
    server.use(({ message, headers }, response) =>
      message?.method === "tools/call"
        ? sendText(response, 404, `no session ${headers["mcp-session-id"]}`)
        : "next",
    );
    const error: Error & { data?: unknown } = await client.post(call()).then(
      () => expect.fail("was answered"),
      (reason: unknown) => reason as Error,
    );
    expect(JSON.stringify([error.message, error.data, String(error.cause), error.stack])).not.toContain(
      "secret-session",
    );
  });

  test("does not keep the next request from trying again", async () => {
    const { client, server } = await startLostStep();
    let isBroken = true;
    server.use(({ message }, response) =>
      isBroken && message?.method === "tools/call" ? sendText(response, 404, "gone") : "next",
    );
    await expect(client.post(call())).rejects.toMatchObject({ code: "SESSION_LOST" });
    isBroken = false;
    expect(await client.request("tools/call", { arguments: 1 })).toHaveProperty("result");
  });
});

describe("a failed recovery", () => {
  test.each([400, 404, 405, 409])(
    "refused with %i is SESSION_LOST, never an answer that looks like an old server's",
    async (status) => {
      const { client, server } = await startLostStep();
      refuseInitialize(server, status);
      const lost = { code: "SESSION_LOST", data: { status } };
      await expect(client.post(call())).rejects.toMatchObject(lost);
      // Nor for a client that makes its handshake while the session is lost.
      await expect(client.handshake()).rejects.toMatchObject(lost);
    },
  );

  test("refused with an unusable result is SESSION_LOST", async () => {
    const { client, server } = await startLostStep();
    server.use(({ message }, response) =>
      message?.method === "initialize" ? sendResult(response, message.id, {}) : "next",
    );
    await expect(client.post(call())).rejects.toMatchObject({ code: "SESSION_LOST" });
  });

  test.each([401, 403, 429, 500, 503])("refused with %i reaches the client", async (status) => {
    const { client, server } = await startLostStep();
    server.use(({ message }, response) => {
      if (message?.method !== "initialize") return "next";
      const error = { jsonrpc: "2.0", id: message.id, error: { code: -32000, message: "no" } };
      sendJson(response, status, error, { "www-authenticate": "Bearer" });
    });
    const response = await client.post(call("own"));
    expect(response.status).toBe(status);
    expect(response.headers.get("www-authenticate")).toBe("Bearer");
    expect(await readMessages(response)).toMatchObject([{ id: "own" }]);
  });

  test("of the acknowledgement is SESSION_LOST, too", async () => {
    const { client, server, slot } = await startLostStep();
    server.use(({ message }, response) =>
      message?.method === "notifications/initialized" ? sendText(response, 400, "no") : "next",
    );
    await expect(client.post(call())).rejects.toMatchObject({ code: "SESSION_LOST" });
    expect(slot.snapshot).toBeUndefined();
  });

  test("is tried again by the next request", async () => {
    const { client, server, events } = await startLostStep();
    refuseInitialize(server, 400);
    await expect(client.post(call())).rejects.toMatchObject({ code: "SESSION_LOST" });
    server.use(() => "next");
    expect(await client.request("tools/call", { arguments: 1 })).toHaveProperty("result");
    expect(events.map(({ type }) => type)).toEqual(["resumed", "lost", "recovered"]);
  });

  test("of the network rejects and is tried again by the next request", async () => {
    const { client, server } = await startLostStep();
    server.use(({ message }, response) => {
      if (message?.method !== "initialize") return "next";
      response.destroy();
    });
    await expect(client.post(call())).rejects.toThrow(TypeError);
    server.use(() => "next");
    expect(await client.request("ping")).toHaveProperty("result");
  });
});

describe("is no loss and reaches the client as it came", () => {
  const error = (code: number) => ({ jsonrpc: "2.0", id: "x", error: { code, message: "Session not found" } });
  test.each<[number, unknown]>([
    [404, error(-32601)],
    [404, error(-32602)],
    [404, error(-32020)],
    [404, error(-32021)],
    [404, error(-32022)],
    [404, { error: "Unsupported protocol version" }],
    [400, error(-32000)],
    [401, error(-32000)],
    [403, error(-32000)],
    [405, error(-32000)],
    [409, error(-32000)],
    [429, error(-32000)],
    [500, error(-32000)],
    [502, error(-32000)],
    [503, error(-32000)],
    [200, error(-32001)],
  ])("%i %j", async (status, body) => {
    const { client, server, slot, events } = await startLostStep();
    server.use(({ message }, response) =>
      sendJson(response, status, { ...(body as object), id: message.id }),
    );
    const response = await client.post(call(7));
    expect(response.status).toBe(status);
    expect(await response.json()).toEqual({ ...(body as object), id: 7 });
    expect(server.log).toEqual(["POST tools/call"]);
    expect(slot.changed).toBe(false);
    expect(events.map(({ type }) => type)).toEqual(["resumed"]);
  });

  test("404 of a server that names no sessions", async () => {
    const server = await startMcpServer(({ message }, response) => {
      if (message.method === "initialize") return "next";
      sendText(response, message.id === undefined ? 202 : 404, "gone");
    });
    const { client, slot } = startStep(server);
    server.use(({ message }, response) => {
      if (message.method === "initialize") {
        return sendResult(response, message.id, {
          protocolVersion: "2025-11-25",
          capabilities: {},
          serverInfo: { name: "s", version: "1" },
        });
      }
      sendText(response, message.id === undefined ? 202 : 404, "gone");
    });
    await client.handshake();
    const response = await client.post(call());
    expect([response.status, await response.text()]).toEqual([404, "gone"]);
    expect(server.log).toEqual([...recovery, "POST tools/call"]);
    expect(slot.snapshot).toMatchObject({ kind: "sessionless" });
  });
});

describe("an abort while a recovery is under way", () => {
  /** A server that holds `initialize` until it is let go. */
  async function startHeldRecovery() {
    const step = await startLostStep();
    const held = Promise.withResolvers<void>();
    step.server.use(async ({ message }) => {
      if (message?.method === "initialize") await held.promise;
      return "next";
    });
    const isInitializing = () =>
      expect.poll(() => step.server.log.filter((entry) => entry === "POST initialize").length).toBe(1);
    return { ...step, isInitializing, release: held.resolve };
  }

  test("of one request does not disturb the others", async () => {
    const { client, server, isInitializing, release } = await startHeldRecovery();
    const controller = new AbortController();
    const leaving = client.request("ping", undefined, { signal: controller.signal });
    const staying = client.request("tools/call", { arguments: 1 });
    const stayingWithSignal = client.request("ping", undefined, { signal: new AbortController().signal });
    await isInitializing();
    await expect.poll(() => server.requests.length).toBe(4);
    controller.abort(new Error("left"));
    await expect(leaving).rejects.toThrow("left");
    release();
    expect(await staying).toHaveProperty("result");
    expect(await stayingWithSignal).toHaveProperty("result");
    expect(server.sessionIds).toHaveLength(2);
  });

  test("of all requests aborts the handshake, and the next request makes its own", async () => {
    const { client, server, slot, isInitializing, release } = await startHeldRecovery();
    const controllers = [new AbortController(), new AbortController()];
    const all = controllers.map(({ signal }) => client.request("ping", undefined, { signal }));
    await isInitializing();
    await expect.poll(() => server.requests.length).toBe(3);
    for (const controller of controllers) controller.abort(new Error("left"));
    for (const request of all) await expect(request).rejects.toThrow("left");
    await server.peerGone;
    expect(slot.snapshot).toBeUndefined();
    release();
    server.use(() => "next");
    expect(await client.request("ping")).toHaveProperty("result");
    expect(slot.snapshot).toMatchObject({ sessionId: server.sessionIds.at(-1) });
  });
});

test("recovers once for two clients that share the fetch", async () => {
  const { fetch, server } = await startLostStep();
  const clients = [createRpcClient(fetch, server.url), createRpcClient(fetch, server.url)];
  const answers = await Promise.all(clients.map((client) => client.request("ping")));
  expect(answers.every((answer) => "result" in answer)).toBe(true);
  expect(server.sessionIds).toHaveLength(2);
});
