import type { AddressInfo } from "node:net";
import { serve } from "@hono/node-server";
import { createSessionFetch, createSessionSlot } from "@durable-mcp/core";
import { expect, test } from "vitest";

const results: Record<string, object> = {
  initialize: {
    protocolVersion: "2025-11-25",
    capabilities: { tools: {} },
    serverInfo: { name: "beside", version: "1" },
  },
  "tools/call": { content: [] },
};

/** An MCP server on the same runtime: it replaces the process's `Request` and `Response`. */
const server = serve({
  port: 0,
  async fetch(request: Request) {
    const { id, method } = (await request.json()) as { id?: number; method: string };
    if (id === undefined) return new Response(null, { status: 202 });
    const headers = { "mcp-session-id": "of-the-test" };
    return Response.json({ jsonrpc: "2.0", id, result: results[method] }, { headers });
  },
});

test("a call works in a process whose Response is Hono's", async () => {
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}/mcp`;
  const fetch = createSessionFetch({ url, slot: createSessionSlot() });
  const message = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "echo" } };
  const headers = { "content-type": "application/json", accept: "application/json" };
  const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(message) });
  expect(await response.json()).toEqual({ jsonrpc: "2.0", id: 1, result: { content: [] } });
  expect(response.headers.get("content-type")).toBe("application/json");
  expect(response.headers.has("mcp-session-id")).toBe(false);
  server.close();
});
