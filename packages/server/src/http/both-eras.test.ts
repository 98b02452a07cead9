import { createMCPClient } from "@ai-sdk/mcp";
import { createMcpHandler } from "@modelcontextprotocol/server";
import { expect, test } from "vitest";
import { createCartServer, createOldCartServer } from "../../test/cart-server.ts";
import { call, startCarts } from "../../test/carts.ts";

test("one createServer serves 2026-07-28, and gives older clients sessions, on one URL", async () => {
  await using carts = startCarts({ stateScope: "principal" });
  const { url, handler } = await carts.replica();

  const modern = await carts.modern(url);
  expect(modern.getNegotiatedProtocolVersion()).toBe("2026-07-28");
  expect(await call(modern, "add", { item: "tea" })).toBe("1 items");
  expect(handler.liveSessions).toBe(0);

  const older = await carts.older(url);
  expect(older.getNegotiatedProtocolVersion()).toBe("2025-11-25");
  expect(await call(older, "list")).toBe("tea");
  expect(await call(await carts.old(url), "list")).toBe("tea");
  expect(handler.liveSessions).toBe(2);
});

test("the client of the AI SDK speaks 2026-07-28 to it", async () => {
  await using carts = startCarts({ stateScope: "principal" });
  const { url, handler } = await carts.replica();
  const headers = { authorization: "Bearer ada" };
  const client = await createMCPClient({ transport: { type: "http", url, headers } });
  const { add } = await client.tools();
  const options = { toolCallId: "1", messages: [], context: {} };
  expect(await add!.execute({ item: "tea" }, options)).toMatchObject({
    content: [{ text: "1 items" }],
  });
  expect(handler.liveSessions).toBe(0);
  expect(await call(await carts.modern(url), "list")).toBe("tea");
  await client.close();
});

test("without createMcpHandler a client of 2026-07-28 falls back to a session", async () => {
  await using carts = startCarts({ stateless: undefined });
  const { url, handler } = await carts.replica();
  const client = await carts.modern(url);
  expect(client.getNegotiatedProtocolVersion()).toBe("2025-11-25");
  expect(await call(client, "add", { item: "tea" })).toBe("1 items");
  expect(handler.liveSessions).toBe(1);
});

test("a server of SDK 1 cannot serve 2026-07-28: an event says so, and clients fall back", async () => {
  await using carts = startCarts({ createServer: ({ session }) => createOldCartServer(session) });
  const { url, handler } = await carts.replica();
  const client = await carts.modern(url);
  expect(client.getNegotiatedProtocolVersion()).toBe("2025-11-25");
  expect(await call(client, "add", { item: "tea" })).toBe("1 items");

  const headers = { authorization: "Bearer ada" };
  const ofAiSdk = await createMCPClient({ transport: { type: "http", url, headers } });
  expect(Object.keys(await ofAiSdk.tools())).toContain("add");
  expect(handler.liveSessions).toBe(2);
  await ofAiSdk.close();
  const failed = carts.events.filter(({ type }) => type === "failed");
  expect(failed).toHaveLength(2);
  expect(failed[0]).toMatchObject({
    error: { message: expect.stringContaining("@modelcontextprotocol/server 2") },
  });
});

test("a handler sees the client of its request", async () => {
  await using carts = startCarts();
  const { url } = await carts.replica();
  const seen = JSON.parse(await call(await carts.modern(url), "client")) as unknown;
  expect(seen).toEqual({
    protocolVersion: "2026-07-28",
    name: "client",
    clientCapabilities: { elicitation: {} },
  });
});

test("a request is authenticated before its body is read, and before its server is built", async () => {
  let built = 0;
  await using carts = startCarts({
    principal: () => undefined,
    createServer: ({ session }) => {
      built += 1;
      return createCartServer(session);
    },
  });
  const { handler } = await carts.replica();
  const body = new ReadableStream({
    pull: () => {
      throw new Error("read");
    },
  });
  const response = await handler(
    new Request("http://localhost/mcp", {
      method: "POST",
      headers: { "mcp-protocol-version": "2026-07-28", "content-type": "application/json" },
      body,
      duplex: "half",
    } as RequestInit),
  );
  expect(response.status).toBe(401);
  expect(built).toBe(0);
});

test("authInfo reaches the handlers of both eras", async () => {
  await using carts = startCarts({
    authInfo: () => ({ token: "t", clientId: "an app", scopes: [] }),
  });
  const { url } = await carts.replica();
  expect(await call(await carts.modern(url), "authorized")).toBe("an app");
  expect(await call(await carts.older(url), "authorized")).toBe("an app");
});

test("hosts and the size of bodies are checked for 2026-07-28 too", async () => {
  await using carts = startCarts({ limits: { bodyBytes: 1_000 } });
  const { url } = await carts.replica();
  const params = { name: "add", arguments: { item: "x".repeat(1_000) } };
  expect((await carts.post(url, "tools/call", params)).status).toBe(413);
  expect((await carts.post(url, "tools/list", {}, { origin: "http://evil.com" })).status).toBe(403);
  expect((await carts.post(url, "tools/list", {})).status).toBe(200);
});

test("options that the author adds reach the handler of the SDK", async () => {
  await using carts = startCarts({
    stateless: (createServer, options) =>
      createMcpHandler(createServer, { ...options, responseMode: "sse" }),
  });
  const { url } = await carts.replica();
  const response = await carts.post(url, "tools/list", {});
  expect(response.headers.get("content-type")).toBe("text/event-stream");
  expect(await response.text()).toContain("add_for_handle");
});
