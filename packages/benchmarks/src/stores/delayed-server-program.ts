/**
 * A server on the official SDK's own transport, which keeps a session for each client. It answers each request as late as
 * its path says, in milliseconds: /<delay>/<number of tools>
 */
import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { CallToolRequestSchema, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { createTools } from "./many-tools.ts";

const transports = new Map<string, StreamableHTTPServerTransport>();

const server = createServer((request, response) => void serve(request, response));
// The processes that are measured come and go, and none may meet a connection that is about to close.
server.keepAliveTimeout = 600_000;
server.listen(0, "127.0.0.1", () => {
  process.send!((server.address() as AddressInfo).port);
});
process.on("disconnect", () => process.exit());

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const [, delayMs, tools] = request.url!.split("/").map(Number);
  if (delayMs! > 0) await sleep(delayMs);
  const id = request.headers["mcp-session-id"];
  if (id === undefined) return await serveNew(request, response, tools!);
  const transport = transports.get(String(id));
  if (transport === undefined) return void response.writeHead(404).end();
  await transport.handleRequest(request, response);
}

async function serveNew(
  request: IncomingMessage,
  response: ServerResponse,
  tools: number,
): Promise<void> {
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    onsessioninitialized: (id) => void transports.set(id, transport),
  });
  // Its type of `onclose` does not know `exactOptionalPropertyTypes`.
  const connected = transport as unknown as Parameters<Server["connect"]>[0];
  await createCountingServer(tools).connect(connected);
  await transport.handleRequest(request, response);
}

/** Its `count` says how often it was called in this session. */
function createCountingServer(tools: number): Server {
  const mcp = new Server({ name: "counting", version: "1.0.0" }, { capabilities: { tools: {} } });
  let calls = 0;
  mcp.setRequestHandler(ListToolsRequestSchema, () => ({ tools: createTools(tools) }));
  mcp.setRequestHandler(CallToolRequestSchema, () => {
    calls += 1;
    return { content: [{ type: "text", text: String(calls) }] };
  });
  return mcp;
}
