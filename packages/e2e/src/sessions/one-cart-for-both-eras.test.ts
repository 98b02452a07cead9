import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createMCPClient } from "@ai-sdk/mcp";
import { createSessionHandler, type ServerSession, type StateScope } from "@durable-mcp/server";
import { toNodeHandler } from "@durable-mcp/server/node";
import { createSqliteStore } from "@durable-mcp/stores/sqlite";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { Client as OldClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as OldTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { expect, test } from "vitest";
import { z } from "zod";

function createCart(session: ServerSession<{ items: string[] }>, scope: StateScope): McpServer {
  const mcp = new McpServer({ name: "cart", version: "1.0.0" });
  const inputSchema = z.object({ item: z.string().optional(), cart: z.string().optional() });
  mcp.registerTool("cart", { inputSchema }, async ({ item }) => {
    if (item !== undefined) await session.update(({ items }) => items.push(item));
    const handle = scope === "principal" ? undefined : session.handle;
    return { content: [], structuredContent: { items: session.state.items, handle } };
  });
  return mcp;
}

/** A replica with a store of its own on the file. */
async function startReplica(path: string, stateScope: StateScope) {
  const store = createSqliteStore({ path });
  const handler = createSessionHandler({
    ...{ store, stateScope },
    stateless: createMcpHandler,
    principal: () => ({ type: "user", issuer: "test", id: "ada" }),
    initialState: () => ({ items: [] as string[] }),
    createServer: ({ session }) => createCart(session, stateScope),
  });
  const server = createServer(toNodeHandler(handler));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const stop = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    await handler.drain();
    await store.close();
  };
  return { url: `http://127.0.0.1:${port}/mcp`, stop };
}

interface CartClient {
  callTool: (params: never) => Promise<unknown>;
  close: () => Promise<void>;
}

async function connectAll(urls: readonly string[]): Promise<CartClient[]> {
  const [one = "", other = one] = urls;
  const info = { name: "client", version: "1" };
  const modern = new Client(info, { versionNegotiation: { mode: "auto" } });
  await modern.connect(new StreamableHTTPClientTransport(new URL(other)));
  const older = new OldClient(info);
  await older.connect(new OldTransport(new URL(one)));
  const transport = { type: "http", url: other } as const;
  return [older, modern, await createMCPClient({ transport })];
}

async function use(client: CartClient, args: object) {
  const result = await client.callTool({ name: "cart", arguments: args } as never);
  const { structuredContent } = result as {
    structuredContent: { items: string[]; handle?: string };
  };
  return structuredContent;
}

// server/tools (2026-07-28), "Stateful Tools": a state between requests is named by a handle.
test.each<[string, StateScope]>([
  ["a principal's", "principal"],
  ["a handle's", { handle: "cart" }],
])("%s cart, filled by clients of both eras through two replicas on one file", async (_, scope) => {
  const folder = mkdtempSync(join(tmpdir(), "carts-"));
  const path = join(folder, "carts.db");
  const replicas = [await startReplica(path, scope), await startReplica(path, scope)];
  const clients = await connectAll(replicas.map(({ url }) => url));

  const [older, modern] = clients;
  const { handle: cart } = await use(older!, { item: "first" });
  const items = Array.from({ length: 60 }, (__, index) => `${index}`);
  await Promise.all(
    items.map((item, index) => use(clients[index % clients.length]!, { item, cart })),
  );
  const seen = await use(modern!, { cart });
  expect(seen.items.toSorted()).toEqual(["first", ...items].toSorted());
  // The session knows its own cart.
  expect(await use(older!, {})).toEqual(seen);

  await Promise.all(clients.map((client) => client.close()));
  for (const { stop } of replicas) await stop();
  rmSync(folder, { recursive: true });
});
