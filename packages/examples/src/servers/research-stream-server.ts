/**
 * An MCP server with sessions (revision 2025-11-25), whose tool works for long. Its streams have event ids, so that
 * another process reads the answer.
 *
 *     node research-stream-server.ts <port> <milliseconds that a call takes>
 */
import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { json } from "node:stream/consumers";
import { setTimeout } from "node:timers/promises";
import { InMemoryEventStore } from "@modelcontextprotocol/sdk/examples/shared/inMemoryEventStore.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { z } from "zod";
import { found } from "./research.ts";

const [port, workMs = "40000"] = process.argv.slice(2);
const transports = new Map<string, StreamableHTTPServerTransport>();

async function openSession(): Promise<StreamableHTTPServerTransport> {
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    eventStore: new InMemoryEventStore(),
    onsessioninitialized: (id) => void transports.set(id, transport),
    onsessionclosed: (id) => void transports.delete(id),
  });
  const lab = new McpServer({ name: "lab", version: "1.0.0" });
  const inputSchema = { topic: z.string() };
  const about = { description: "Researches a topic.", inputSchema };
  lab.registerTool("research", about, async ({ topic }, { signal }) => {
    await setTimeout(Number(workMs), undefined, { signal });
    return found(topic);
  });
  await lab.connect(transport);
  return transport;
}

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const id = request.headers["mcp-session-id"]?.toString();
  const transport = id === undefined ? await openSession() : transports.get(id);
  const body = request.method === "POST" ? await json(request) : undefined;
  if (transport) await transport.handleRequest(request, response, body);
  else response.writeHead(404).end();
}

createServer((request, response) => void serve(request, response)).listen(
  Number(port),
  "127.0.0.1",
);
