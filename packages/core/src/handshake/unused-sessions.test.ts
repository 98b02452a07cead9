import type { ServerResponse } from "node:http";
import { expect, test } from "vitest";
import { initialize, initialized } from "../../test/handshake-messages.ts";
import {
  initializeResult,
  sendJson,
  sendResult,
  sendText,
  startEvents,
  startMcpServer,
  type TestMcpServer,
} from "../../test/mcp-server.ts";
import { startStep } from "../../test/step.ts";

/** The sessions that the server still holds, after the DELETEs. */
const leftOn = ({ sessionIds, requests }: TestMcpServer) => {
  const ended = requests.filter(({ method }) => method === "DELETE");
  const ids = ended.map(({ headers }) => headers["mcp-session-id"]);
  return sessionIds.filter((id) => !ids.includes(id));
};

/** A server that names a session in its answer to `initialize`, with a body of the test's. */
async function startNaming(answer: (response: ServerResponse, id: unknown) => void) {
  const server = await startMcpServer();
  server.use(({ message }, response, next) => {
    if (message?.method !== "initialize") return next();
    const sessionId = `secret-session-${server.sessionIds.length + 1}`;
    server.sessionIds.push(sessionId);
    response.setHeader("mcp-session-id", sessionId);
    answer(response, message.id);
  });
  return server;
}

const tooLarge = { ...initializeResult, instructions: "x".repeat(1_000_000) };

test.each<[string, (response: ServerResponse, id: unknown) => void]>([
  ["hangs", (response) => startEvents(response)],
  ["ends without an answer", (response) => void response.end()],
  ["has an error", (response, id) => sendJson(response, 200, { jsonrpc: "2.0", id, error: {} })],
  ["has no result", (response, id) => sendResult(response, id, {})],
  ["has more than can be kept", (response, id) => sendResult(response, id, tooLarge)],
])("a session whose initialize %s is ended", async (_, answer) => {
  const server = await startNaming(answer);
  const { client, slot } = startStep(server, { timeouts: { initializeMs: 1_000 } });
  const init = { headers: { "content-type": "application/json", authorization: "Bearer b" } };
  await client.post(initialize, init).catch(() => undefined);
  await slot.settle();
  expect(server.log).toEqual(["POST initialize", "DELETE"]);
  expect(server.requests[1]?.headers).toMatchObject({
    "mcp-session-id": "secret-session-1",
    authorization: "Bearer b",
  });
  expect(server.requests[1]?.headers).not.toHaveProperty("content-type");
  expect(slot).toMatchObject({ snapshot: undefined, unfinished: undefined });
});

test("sessions whose initialize breaks off, twice, are ended", async () => {
  const server = await startNaming((response) => {
    response.writeHead(200, { "content-type": "application/json", "content-length": "500" });
    response.write("{", () => response.destroy());
  });
  const { client, slot } = startStep(server);
  const init = { headers: { "content-type": "application/json", authorization: "Bearer b" } };
  await client.post(initialize, init).catch(() => undefined);
  await slot.settle();
  expect(server.sessionIds).toHaveLength(2);
  await expect.poll(() => leftOn(server)).toEqual([]);
  for (const { method, headers } of server.requests) {
    expect(headers).toMatchObject({ authorization: "Bearer b" });
    expect("content-type" in headers).toBe(method === "POST");
  }
});

test("a session whose initialize is aborted is ended", async () => {
  const server = await startNaming((response) => startEvents(response));
  const named = Promise.withResolvers<void>();
  const { client, slot } = startStep(server, {
    fetch: (input, init) => fetch(input, init).finally(named.resolve),
  });
  const controller = new AbortController();
  const posting = client.post(initialize, { signal: controller.signal });
  await named.promise;
  await new Promise((resolve) => {
    setTimeout(resolve);
  });
  controller.abort(new Error("left"));
  await expect(posting).rejects.toThrow("left");
  await expect.poll(() => leftOn(server)).toEqual([]);
  await slot.settle();
});

test("a session that is named after the time-out is ended", async () => {
  const answered = Promise.withResolvers<void>();
  const server = await startNaming((response, id) => sendResult(response, id, initializeResult));
  const { client } = startStep(server, {
    timeouts: { initializeMs: 50 },
    // It ignores the signal, and is late.
    fetch: async (input, init) => {
      const response = await fetch(input, { ...init, signal: null });
      if (init?.method === "POST") await answered.promise;
      return response;
    },
  });
  await expect(client.post(initialize)).rejects.toMatchObject({ code: "CONNECTION_UNAVAILABLE" });
  answered.resolve();
  await expect.poll(() => leftOn(server)).toEqual([]);
});

test("sessions that the server does not acknowledge are ended, each one", async () => {
  const server = await startMcpServer();
  server.use(({ message }, response, next) =>
    message?.method === "notifications/initialized" ? sendText(response, 503, "busy") : next(),
  );
  const { client, slot } = startStep(server);
  for (let n = 0; n < 3; n += 1) {
    await client.post(initialize);
    expect((await client.post(initialized)).status).toBe(503);
  }
  await slot.settle();
  expect(server.sessionIds).toHaveLength(3);
  expect(leftOn(server)).toEqual([]);
  const [ended] = server.requests.filter(({ method }) => method === "DELETE");
  expect(ended?.headers).toMatchObject({ "mcp-protocol-version": "2025-11-25" });
});

test("nobody waits for a server that does not answer the DELETE", async () => {
  const server = await startNaming((response, id) => sendResult(response, id, {}));
  const deletes: (AbortSignal | null | undefined)[] = [];
  const { client } = startStep(server, {
    fetch: (input, init) => {
      if (init?.method !== "DELETE") return fetch(input, init);
      deletes.push(init.signal);
      return new Promise(() => {});
    },
  });
  expect((await client.post(initialize)).status).toBe(200);
  expect(deletes).toEqual([expect.any(AbortSignal)]);
});

test("an empty session id is none", async () => {
  const server = await startMcpServer(({ message }, response) => {
    response.setHeader("mcp-session-id", "");
    if (message.method === "notifications/initialized") sendText(response, 202, "");
    else sendResult(response, message.id, message.method === "initialize" ? initializeResult : {});
  });
  const { client, slot, events } = startStep(server);
  await client.handshake();
  expect(await client.request("tools/call")).toMatchObject({ result: {} });
  expect(slot.snapshot).toMatchObject({ kind: "sessionless" });
  expect(events).toMatchObject([{ type: "sessionless" }]);
  expect(server.requests.at(-1)?.headers).not.toHaveProperty("mcp-session-id");
});
