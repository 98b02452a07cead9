import { describe, expect, test } from "vitest";
import { sendResult, sendText, startMcpServer } from "../../test/mcp-server.ts";
import { within } from "../base/bounded-wait.ts";
import { startLostStep, startStep } from "../../test/step.ts";

const call = (id: unknown = 0) => ({
  jsonrpc: "2.0",
  id,
  method: "tools/call",
  params: { arguments: id },
});
const recovery = ["POST initialize", "POST notifications/initialized"];

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
    // The client's own name, the capabilities of the lost session, and no id used twice.
    expect(server.requests[1]?.message.params).toEqual({
      protocolVersion: "2025-11-25",
      capabilities: {},
      clientInfo: { name: "own", version: "2" },
    });
    expect(server.requests[0]?.message.id).not.toBe(server.requests[3]?.message.id);
    expect(slot).toMatchObject({
      changed: true,
      snapshot: { sessionId: "secret-session-2", clientCapabilities: {} },
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
    const onNewSession = calls.filter(
      ({ headers }) => headers["mcp-session-id"] === "secret-session-2",
    );
    expect(
      onNewSession.map(({ message }) => message.params.arguments).toSorted((a, b) => a - b),
    ).toEqual(numbers);
    expect(calls.length).toBeLessThanOrEqual(40);
    expect(new Set(calls.map(({ message }) => message.id)).size).toBe(calls.length);
    expect(events.filter(({ type }) => type === "lost")).toHaveLength(1);
    expect(events.filter(({ type }) => type === "recovered")).toHaveLength(1);
  });

  test("that comes late does not clear the session that took the lost one's place", async () => {
    const { client, server, slot } = await startLostStep();
    const late = Promise.withResolvers<void>();
    server.use(async ({ message, headers }, _response, next) => {
      if (
        message?.params?.arguments === "late" &&
        headers["mcp-session-id"] === "secret-session-1"
      ) {
        await late.promise;
      }
      return next();
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
    server.use(({ method, message, headers }, response) => {
      if (method === "DELETE") {
        sendText(response, 404, "Session not found");
      } else if (message.method === "initialize") {
        sendResult(response, message.id, older, { "mcp-session-id": "new" });
      } else if (headers["mcp-session-id"] !== "new") {
        sendText(response, 404, "Session not found");
      } else if (message.id === undefined) {
        sendText(response, 202, "");
      } else sendResult(response, message.id, {});
    });
    await client.post(call());
    expect(events.at(-1)).toEqual({
      type: "recovered",
      protocolVersion: "2025-06-18",
      changed: true,
    });
    const posts = server.requests.filter(({ method }) => method === "POST");
    expect(posts.map(({ headers }) => headers["mcp-protocol-version"])).toEqual([
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
    server.use(({ message }, response, next) =>
      message?.method === "tools/call" ? sendText(response, 404, "Session not found") : next(),
    );
    await expect(client.post(call())).rejects.toMatchObject({
      code: "SESSION_LOST",
      data: { method: "tools/call", origin: server.origin, status: 404 },
    });
    expect(server.log).toEqual(["POST tools/call", ...recovery, "POST tools/call"]);
    expect(slot.snapshot).toEqual({ version: 1, kind: "sessionless", url: server.url, lost: {} });
    expect(events.map(({ type }) => type)).toEqual(["resumed", "lost", "recovered", "lost"]);
  });

  test("names no session id", async () => {
    const { client, server } = await startLostStep();
    server.use(({ message, headers }, response, next) =>
      message?.method === "tools/call"
        ? sendText(response, 404, `no session ${String(headers["mcp-session-id"])}`)
        : next(),
    );
    const error: Error & { data?: unknown } = await client.post(call()).then(
      () => expect.fail("was answered"),
      (reason: unknown) => reason as Error,
    );
    expect(
      JSON.stringify([error.message, error.data, String(error.cause), error.stack]),
    ).not.toContain("secret-session");
  });

  test("does not keep the next request from trying again", async () => {
    const { client, server } = await startLostStep();
    let isBroken = true;
    server.use(({ message }, response, next) =>
      isBroken && message?.method === "tools/call" ? sendText(response, 404, "no session") : next(),
    );
    await expect(client.post(call())).rejects.toMatchObject({ code: "SESSION_LOST" });
    isBroken = false;
    expect(await client.request("tools/call", { arguments: 1 })).toHaveProperty("result");
  });
});

/** A server that holds `initialize` until it is let go. */
async function startHeldRecovery() {
  const step = await startLostStep();
  const held = Promise.withResolvers<void>();
  step.server.use(async ({ message }, _response, next) => {
    if (message?.method === "initialize") await held.promise;
    return next();
  });
  const isInitializing = () =>
    expect
      .poll(() => step.server.log.filter((entry) => entry === "POST initialize").length)
      .toBe(1);
  return { ...step, isInitializing, release: held.resolve };
}

describe("an abort while a recovery is under way", () => {
  test("of one request does not disturb the others", async () => {
    const { client, server, isInitializing, release } = await startHeldRecovery();
    const controller = new AbortController();
    const leaving = client.request("ping", undefined, { signal: controller.signal });
    const staying = client.request("tools/call", { arguments: 1 });
    const stayingWithSignal = client.request("ping", undefined, {
      signal: new AbortController().signal,
    });
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
    expect(slot.snapshot).toEqual({ version: 1, kind: "sessionless", url: server.url, lost: {} });
    release();
    server.use((_request, _response, next) => next());
    expect(await client.request("ping")).toHaveProperty("result");
    expect(slot.snapshot).toMatchObject({ sessionId: server.sessionIds.at(-1) });
  });
});

test("recovers as often as the server forgets, also a session made in the same step", async () => {
  const server = await startMcpServer();
  const { client, events } = startStep(server);
  await client.handshake();
  for (const _ of [1, 2]) {
    server.forgetSessions();
    expect(await client.request("ping")).toHaveProperty("result");
  }
  expect(server.sessionIds).toHaveLength(3);
  expect(events.map(({ type }) => type)).toEqual([
    "started",
    "lost",
    "recovered",
    "lost",
    "recovered",
  ]);
});

test("nobody waits for the end of the lost session", async () => {
  const asked = Promise.withResolvers<void>();
  const fetch: typeof globalThis.fetch = (input, init) => {
    if (init?.method !== "DELETE") return globalThis.fetch(input, init);
    asked.resolve();
    return new Promise(() => {});
  };
  const { client, slot } = await startLostStep({ fetch });
  expect(await client.request("tools/call")).toHaveProperty("result");
  await asked.promise;
  expect(await within(1_000, slot.settle())).toBe(true);
});
