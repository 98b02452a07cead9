import { describe, expect, test } from "vitest";
import {
  initializeResult,
  sendJson,
  sendResult,
  sendText,
  startMcpServer,
  type TestMcpServer,
} from "../../test/mcp-server.ts";
import { readMessages } from "../../test/rpc-client.ts";
import { startLostStep, startStep } from "../../test/step.ts";

const call = (id: unknown = 0) => ({
  jsonrpc: "2.0",
  id,
  method: "tools/call",
  params: { arguments: id },
});
const recovery = ["POST initialize", "POST notifications/initialized"];

/** Refuses `initialize` with this status and text; everything else is left to the server. */
function refuseInitialize(server: TestMcpServer, status: number, body = "no") {
  server.use(({ message }, response, next) =>
    message?.method === "initialize" ? sendText(response, status, body) : next(),
  );
}

describe("a failed recovery", () => {
  test.each([400, 405, 409])(
    "refused with %i is SESSION_LOST, never an answer that looks like an old server's",
    async (status) => {
      const { client, server } = await startLostStep();
      refuseInitialize(server, status);
      const lost = {
        code: "SESSION_LOST",
        message: expect.stringContaining(` at ${server.origin} (HTTP ${status}): `),
        data: { status },
      };
      await expect(client.post(call())).rejects.toMatchObject(lost);
      // Nor for a client that makes its handshake while the session is lost.
      await expect(client.handshake()).rejects.toMatchObject(lost);
    },
  );

  test("refused with an unusable result is SESSION_LOST", async () => {
    const { client, server } = await startLostStep();
    server.use(({ message }, response, next) =>
      message?.method === "initialize" ? sendResult(response, message.id, {}) : next(),
    );
    await expect(client.post(call())).rejects.toMatchObject({ code: "SESSION_LOST" });
  });

  test.each([401, 403, 429, 500, 503])("refused with %i reaches the client", async (status) => {
    const { client, server } = await startLostStep();
    server.use(({ message }, response, next) => {
      if (message?.method !== "initialize") return next();
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
    server.use(({ message }, response, next) =>
      message?.method === "notifications/initialized" ? sendText(response, 400, "no") : next(),
    );
    await expect(client.post(call())).rejects.toMatchObject({ code: "SESSION_LOST" });
    expect(slot.snapshot).toEqual({ version: 1, kind: "sessionless", url: server.url, lost: {} });
  });

  test("is tried again by the next request", async () => {
    const { client, server, events } = await startLostStep();
    refuseInitialize(server, 400);
    await expect(client.post(call())).rejects.toMatchObject({ code: "SESSION_LOST" });
    server.use((_request, _response, next) => next());
    expect(await client.request("tools/call", { arguments: 1 })).toHaveProperty("result");
    expect(events.map(({ type }) => type)).toEqual(["resumed", "lost", "recovered"]);
  });

  test("of the network rejects and is tried again by the next request", async () => {
    const { client, server } = await startLostStep();
    server.use(({ message }, response, next) => {
      if (message?.method !== "initialize") return next();
      response.destroy();
    });
    await expect(client.post(call())).rejects.toMatchObject({
      code: "CONNECTION_UNAVAILABLE",
      data: { method: "initialize", reason: "reset" },
    });
    server.use((_request, _response, next) => next());
    expect(await client.request("ping")).toHaveProperty("result");
  });
});

const error = (code: number, message = "Session not found") => ({
  jsonrpc: "2.0",
  id: "x",
  error: { code, message },
});

const asked = ["POST ping", "POST initialize"];

describe("is no loss and reaches the client as it came", () => {
  test.each<[number, unknown, string[]?]>([
    [404, error(-32601)],
    [404, error(-32602)],
    [404, error(-32021)],
    [404, { error: "Unsupported protocol version" }],
    [401, error(-32000)],
    [429, error(-32000)],
    [200, error(-32602)],
    // Nothing is answered otherwise: it may be an outage.
    [400, error(-32000, "Bad Request"), asked],
    [403, error(-32000), asked],
    [405, error(-32000, "Method Not Allowed"), asked],
    [409, error(-32000, "Conflict"), asked],
    [500, error(-32000), asked],
    // A busy server, and a gateway, get their `initialize` once more.
    [502, error(-32000), [...asked, "POST initialize"]],
    [503, error(-32000), [...asked, "POST initialize"]],
    [200, error(-32001), asked],
  ])("%i %j", async (status, body, questions = []) => {
    const { client, server, slot, events } = await startLostStep();
    server.use(({ message }, response) =>
      sendJson(response, status, { ...(body as object), id: message.id }),
    );
    const response = await client.post(call(7));
    expect(response.status).toBe(status);
    expect(await response.json()).toEqual({ ...(body as object), id: 7 });
    expect(server.log).toEqual(["POST tools/call", ...questions]);
    expect(slot.changed).toBe(false);
    expect(events.map(({ type }) => type)).toEqual(["resumed"]);
  });

  test("404 of a server that names no sessions", async () => {
    const server = await startMcpServer(({ message }, response) => {
      if (message.method === "initialize") sendResult(response, message.id, initializeResult);
      else sendText(response, message.id === undefined ? 202 : 404, "gone");
    });
    const { client, slot } = startStep(server);
    await client.handshake();
    const response = await client.post(call());
    expect([response.status, await response.text()]).toEqual([404, "gone"]);
    expect(server.log).toEqual([...recovery, "POST tools/call"]);
    expect(slot.snapshot).toMatchObject({ kind: "sessionless" });
  });
});
