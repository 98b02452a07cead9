import { createMemoryStore } from "@durable-mcp/core";
import { createFaultyServer } from "@durable-mcp/testing";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { connectClient2 } from "../../test/clients.ts";
import { startOwnServer } from "../../test/own-server.ts";
import {
  begin,
  get,
  messagesOf,
  post,
  readEvents,
  request,
  toolCall,
} from "../../test/raw-client.ts";
import { serveGateway } from "../../test/serve-gateway.ts";

async function startServer(options: Partial<Parameters<typeof createFaultyServer>[0]> = {}) {
  const server = await createFaultyServer({
    era: "2025-11-25",
    tools: { add: () => "added" },
    ...options,
  });
  onTestFinished(() => server.close());
  return server;
}

const list = request(1, "tools/list");
const call = toolCall(2, "add");

describe("a request is refused", () => {
  test.each<[string, number, Parameters<typeof post>[2]]>([
    ["without a principal", 401, { token: "" }],
    ["of a page of another origin", 403, { headers: { origin: "https://evil.example" } }],
    ["with an id that nobody has", 404, { session: "0".repeat(48) }],
    ["with an id of other characters", 404, { session: "../../ann" }],
  ])("%s", async (_, status, options) => {
    const server = await startServer();
    const { url } = await serveGateway(server.url);
    const response = await post(url, list, options);
    expect(response.status).toBe(status);
    expect(await response.json()).toMatchObject({ error: { message: expect.any(String) } });
    expect(server.requests).toHaveLength(0);
  });

  test("of a name that was made to resolve to this machine", async () => {
    const server = await startServer();
    const { gateway } = await serveGateway(server.url);
    const headers = { host: "evil.example", authorization: "Bearer ann" };
    const rebound = new Request("http://evil.example/mcp/shop", { method: "POST", headers });
    expect((await gateway.fetch(rebound)).status).toBe(403);
  });

  test("with another user's session id, of another connection, and after its end", async () => {
    const server = await startServer();
    const { url } = await serveGateway(server.url);
    const session = await begin(url);
    const sent = server.requests.length;
    expect((await post(url, list, { session, token: "bob" })).status).toBe(404);
    expect((await get(url, { session, token: "bob" })).status).toBe(404);
    expect((await post(url.replace("shop", "other"), list, { session })).status).toBe(404);
    const headers = { authorization: "Bearer bob", "mcp-session-id": session };
    expect((await fetch(url, { method: "DELETE", headers })).status).toBe(404);
    expect(server.requests).toHaveLength(sent);
    const own = { authorization: "Bearer ann", "mcp-session-id": session };
    expect((await fetch(url, { method: "DELETE", headers: own })).status).toBe(204);
    expect(server.requests.at(-1)).toMatchObject({ httpMethod: "DELETE" });
    expect((await post(url, list, { session })).status).toBe(404);
  });

  test("with a body that is no message, or too long, also without a length", async () => {
    const server = await startServer();
    const { url, gateway } = await serveGateway(server.url, { maxBodyBytes: 1_000 });
    const session = await begin(url);
    for (const body of ["", "{", "5", '"text"', '{"id":1}'])
      expect((await post(url, body, { session })).status).toBe(400);
    expect((await post(url, `"${"x".repeat(1_000)}"`, { session })).status).toBe(413);
    const endless = new ReadableStream({
      pull: (controller) => controller.enqueue(new Uint8Array(100)),
    });
    const init = { method: "POST", body: endless, duplex: "half" };
    const headers = { authorization: "Bearer ann", "mcp-session-id": session };
    const long = new Request(url, { ...init, headers });
    expect((await gateway.fetch(long)).status).toBe(413);
  });

  test("with an event id that is forged, or of another session", async () => {
    const server = await startOwnServer();
    const { url } = await serveGateway(server.url);
    const [session, other] = await Promise.all([begin(url), begin(url)]);
    const events = readEvents(
      await post(url, toolCall(1, "work", { key: "a" }), { session: other }),
    );
    const { id } = (await events.next())!;
    for (const lastEventId of [id!, "", "1", `${id!.slice(0, 16)}.%`, "x".repeat(10_000)])
      expect((await get(url, { session, lastEventId })).status).toBe(400);
  });

  test("to begin more sessions than a principal may have", async () => {
    const server = await startServer();
    const { url } = await serveGateway(server.url, { maxSessions: 2 });
    await begin(url);
    await begin(url);
    await expect(begin(url)).rejects.toThrow("429");
    await begin(url, { token: "bob" });
  });
});

test("neither the client's token nor its cookies nor its session id go to the server", async () => {
  const server = await startServer();
  const { url } = await serveGateway(server.url, {
    connection: { headers: { "x-key": "operator" } },
  });
  const headers = { cookie: "secret=1", "x-forwarded-for": "ann" };
  const session = await begin(url, { headers });
  await post(url, list, { session, headers });
  for (const { headers: seen } of server.requests) {
    expect(seen.get("x-key")).toBe("operator");
    expect(seen.get("authorization")).toBeNull();
    expect(seen.get("cookie")).toBeNull();
    expect(seen.get("mcp-session-id")).not.toBe(session);
  }
});

test("the client's own handshake goes to the server, and its acknowledgement before the answer", async () => {
  const server = await startServer();
  const { url } = await serveGateway(server.url);
  const capabilities = { roots: { listChanged: true } };
  const params = {
    ...{ protocolVersion: "2025-06-18", capabilities },
    clientInfo: { name: "codex-mcp-client", version: "7" },
  };
  const response = await post(url, request("first", "initialize", params));
  expect(await response.json()).toMatchObject({
    id: "first",
    result: { protocolVersion: "2025-06-18" },
  });
  expect(server.requests.map(({ message }) => (message as any)?.method)).toEqual([
    "initialize",
    "notifications/initialized",
  ]);
  expect((server.requests[0]!.message as any).params).toEqual(params);
});

test("what the server refuses is no refusal of the client: it keeps its session", async () => {
  const server = await startServer();
  const { url } = await serveGateway(server.url);
  const session = await begin(url);
  for (const status of [401, 403, 429, 503]) {
    server.refuse(status, { times: 1 });
    const response = await post(url, call, { session });
    expect(response.status).toBe(200);
    const [answer] = await messagesOf(response);
    expect(answer).toMatchObject({ id: 2, result: { isError: true } });
    expect(answer.result.content[0].text).toContain(`HTTP ${status}`);
  }
  const [answer] = await messagesOf(await post(url, call, { session }));
  expect(answer).toMatchObject({ result: { content: [{ text: "added" }] } });
});

test("a 503 may come after the work, so its text does not say that nothing was done", async () => {
  const server = await startServer();
  const { url } = await serveGateway(server.url);
  const session = await begin(url);
  server.refuse(503, { times: 1 });
  const [answer] = await messagesOf(await post(url, call, { session }));
  expect(answer.result.content[0].text).toContain("Whether the call was carried out is unknown");
  server.refuse(429, { times: 1 });
  const [later] = await messagesOf(await post(url, call, { session }));
  expect(later.result.content[0].text).toContain("was not carried out; try again later");
});

test("a server's own error passes unchanged", async () => {
  const server = await startServer();
  const { url } = await serveGateway(server.url);
  const session = await begin(url);
  const [answer] = await messagesOf(await post(url, request(9, "no/such"), { session }));
  expect(answer).toMatchObject({ id: 9, error: { code: -32_601 } });
});

test("a server without sessions gets none, and its clients are served", async () => {
  const server = await startServer({ sessions: false });
  const { url, store } = await serveGateway(server.url, { store: createMemoryStore() });
  const client = await connectClient2(url);
  expect(await client.callTool({ name: "add", arguments: {} })).toMatchObject({
    content: [{ text: "added" }],
  });
  expect((await store.list({ limit: 10 })).records).toHaveLength(0);
});

test("a client of the session era before a server of 2026-07-28 alone is told so", async () => {
  const server = await startServer({ era: "2026-07-28" });
  const { url } = await serveGateway(server.url);
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: {} };
  const response = await post(url, request(1, "initialize", params));
  expect(response.status).toBe(400);
  const { error } = await response.json();
  expect(error.code).toBe(-32_022);
});

test.each(["", "@work"])("a server that is not there is told of: shop%s", async (name) => {
  const onEvent = vi.fn<(event: object) => void>();
  const { url } = await serveGateway("http://127.0.0.1:9/mcp", { onEvent });
  await expect(begin(`${url}${name}`)).rejects.toThrow(/502.*the request was not carried out/);
  const error = { message: expect.stringContaining("no connection could be made") };
  expect(onEvent.mock.calls[0]![0]).toMatchObject({
    type: "unavailable",
    connection: "shop",
    error,
  });
});
