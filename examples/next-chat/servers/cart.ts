import { randomUUID } from "node:crypto";
import {
  type CallToolResult,
  McpServer,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import { z } from "zod";

const sessions = new Map<string, WebStandardStreamableHTTPServerTransport>();

/** A stateful MCP server: each MCP session has a cart of its own, in memory. */
export async function serveCart(request: Request): Promise<Response> {
  const sessionId = request.headers.get("mcp-session-id");
  const transport = sessionId === null ? await openSession() : sessions.get(sessionId);
  if (transport) return await transport.handleRequest(request);
  const error = { code: -32001, message: "Session not found" };
  return Response.json({ jsonrpc: "2.0", error, id: null }, { status: 404 });
}

/** The transport takes an id, and a place in `sessions`, once an `initialize` has come in. */
async function openSession(): Promise<WebStandardStreamableHTTPServerTransport> {
  const transport = new WebStandardStreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    onsessioninitialized: (id) => void sessions.set(id, transport),
    onsessionclosed: (id) => void sessions.delete(id),
  });
  await createCart().connect(transport);
  return transport;
}

function createCart(): McpServer {
  const cart = new Set<string>();
  const contents = (): CallToolResult => ({ content: [{ type: "text", text: describe(cart) }] });
  const inputSchema = z.object({ item: z.string() });
  const server = new McpServer({ name: "cart", version: "1.0.0" });
  server.registerTool(
    "add_item",
    { description: "Adds an item to the cart.", inputSchema },
    ({ item }) => {
      cart.add(item);
      return contents();
    },
  );
  server.registerTool(
    "remove_item",
    { description: "Removes an item from the cart.", inputSchema },
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
