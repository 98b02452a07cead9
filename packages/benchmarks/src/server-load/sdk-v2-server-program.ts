/**
 * The measured tools on version 2 of the official SDK, on its own transport: one for each session, in a map, on plain
 * `node:http`:
 *
 *     node sdk-v2-server-program.ts none sse|json
 */
import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { NodeStreamableHTTPServerTransport } from "@modelcontextprotocol/node";
import { McpServer } from "@modelcontextprotocol/server";
import { z } from "zod";
import { serveAndReport } from "./serve-and-report.ts";

const [, , , format] = process.argv;
const transports = new Map<string, NodeStreamableHTTPServerTransport>();

serveAndReport(async (request, response) => {
  const id = request.headers["mcp-session-id"];
  if (typeof id !== "string") return await serveNew(request, response);
  const transport = transports.get(id);
  if (transport === undefined) return void response.writeHead(404).end();
  await transport.handleRequest(request, response);
});

async function serveNew(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const transport = new NodeStreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    enableJsonResponse: format === "json",
    onsessioninitialized: (id) => void transports.set(id, transport),
  });
  await createTools().connect(transport);
  await transport.handleRequest(request, response);
}

/** As `createMeasuredTools`, without `report`. */
function createTools(): McpServer {
  const mcp = new McpServer({ name: "measured", version: "1.0.0" });
  let calls = 0;
  const inputSchema = z.object({ name: z.string() });
  mcp.registerTool("greet", { inputSchema }, ({ name }) => ({
    content: [{ type: "text", text: `Hello, ${name}!` }],
  }));
  mcp.registerTool("count", { inputSchema }, ({ name }) => ({
    content: [{ type: "text", text: `Hello, ${name}! This is call ${(calls += 1)}.` }],
  }));
  return mcp;
}
