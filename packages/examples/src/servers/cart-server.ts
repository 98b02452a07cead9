/**
 * A stateful MCP server: every MCP session has a shopping cart of its own, kept in memory.
 *
 *     node cart-server.ts <port>
 */
import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { z } from "zod";

const port = Number(process.argv[2]);
const sessions = new Map<string, StreamableHTTPServerTransport>();

createServer((request, response) => {
  handle(request, response).catch((error: unknown) => {
    console.error(error);
    response.destroy();
  });
}).listen(port, "127.0.0.1");

async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const sessionId = request.headers["mcp-session-id"]?.toString();
  const transport = sessionId === undefined ? await openSession() : sessions.get(sessionId);
  if (transport) return transport.handleRequest(request, response);

  // The specification's answer to a session that the server does not know, or no longer knows.
  const error = { code: -32001, message: "Session not found" };
  response.writeHead(404, { "content-type": "application/json" });
  response.end(JSON.stringify({ jsonrpc: "2.0", id: null, error }));
}

/** The transport takes an id, and a place in `sessions`, once an `initialize` has come in. */
async function openSession(): Promise<StreamableHTTPServerTransport> {
  const transport: StreamableHTTPServerTransport = new StreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    onsessioninitialized: (id) => void sessions.set(id, transport),
    onsessionclosed: (id) => void sessions.delete(id),
  });
  await createCart().connect(transport);
  return transport;
}

function createCart(): McpServer {
  const cart = new Set<string>();
  const contents = () => ({ content: [{ type: "text" as const, text: describe(cart) }] });
  const server = new McpServer({ name: "cart", version: "1.0.0" });

  server.registerTool(
    "add_item",
    { description: "Adds an item to the cart.", inputSchema: { item: z.string() } },
    ({ item }) => {
      cart.add(item);
      return contents();
    },
  );
  server.registerTool(
    "remove_item",
    { description: "Removes an item from the cart.", inputSchema: { item: z.string() } },
    ({ item }) => {
      cart.delete(item);
      return contents();
    },
  );
  server.registerTool("list_items", { description: "Lists the items in the cart." }, contents);
  return server;
}

function describe(cart: Set<string>): string {
  return cart.size === 0 ? "The cart is empty." : `The cart holds ${[...cart].join(", ")}.`;
}
