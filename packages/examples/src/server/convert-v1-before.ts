import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { z } from "zod";

const port = Number(process.env["PORT"] ?? 3000);
const transports = new Map<string, StreamableHTTPServerTransport>();

function createCart(): McpServer {
  const items: string[] = [];
  const mcp = new McpServer({ name: "cart", version: "1.0.0" });
  mcp.registerTool("add_item", { inputSchema: { item: z.string() } }, ({ item }) => {
    items.push(item);
    return { content: [{ type: "text", text: items.join(", ") }] };
  });
  return mcp;
}

async function openSession(): Promise<StreamableHTTPServerTransport> {
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    onsessioninitialized: (id) => void transports.set(id, transport),
    onsessionclosed: (id) => void transports.delete(id),
  });
  await createCart().connect(transport);
  return transport;
}

async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const sessionId = request.headers["mcp-session-id"]?.toString();
  const transport = sessionId === undefined ? await openSession() : transports.get(sessionId);
  if (transport) return await transport.handleRequest(request, response);
  const error = { code: -32001, message: "Session not found" };
  response.writeHead(404, { "Content-Type": "application/json" });
  response.end(JSON.stringify({ jsonrpc: "2.0", error, id: null }));
}

createServer((request, response) => void handle(request, response)).listen(port, "127.0.0.1");
