import { randomUUID } from "node:crypto";
import { serve } from "@hono/node-server";
import {
  createMcpHandler,
  isLegacyRequest,
  McpServer,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import { z } from "zod";

const port = Number(process.env["PORT"] ?? 3000);
const transports = new Map<string, WebStandardStreamableHTTPServerTransport>();

function createCart(): McpServer {
  const items: string[] = [];
  const mcp = new McpServer({ name: "cart", version: "1.0.0" });
  const inputSchema = z.object({ item: z.string() });
  mcp.registerTool("add_item", { inputSchema }, ({ item }) => {
    items.push(item);
    return { content: [{ type: "text", text: items.join(", ") }] };
  });
  return mcp;
}

const stateless = createMcpHandler(createCart, { legacy: "reject" });

async function openSession(): Promise<WebStandardStreamableHTTPServerTransport> {
  const transport = new WebStandardStreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    onsessioninitialized: (id) => void transports.set(id, transport),
    onsessionclosed: (id) => void transports.delete(id),
  });
  await createCart().connect(transport);
  return transport;
}

async function handle(request: Request): Promise<Response> {
  if (!(await isLegacyRequest(request))) return await stateless.fetch(request);
  const sessionId = request.headers.get("mcp-session-id");
  const transport = sessionId === null ? await openSession() : transports.get(sessionId);
  if (transport) return await transport.handleRequest(request);
  const error = { code: -32001, message: "Session not found" };
  return Response.json({ jsonrpc: "2.0", error, id: null }, { status: 404 });
}

serve({ fetch: handle, port, hostname: "127.0.0.1" });
