/**
 * A stateful MCP server with a board, which is a file: whoever writes it changes a resource. A restart forgets its
 * sessions.
 *
 *     node board-server.ts <port> <file>
 */
import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";

const [, , port, file = ""] = process.argv;
const sessions = new Map<string, StreamableHTTPServerTransport>();

createServer((request, response) => {
  const id = request.headers["mcp-session-id"]?.toString();
  const known = id === undefined ? openSession() : Promise.resolve(sessions.get(id));
  void known.then(async (transport) =>
    transport ? await transport.handleRequest(request, response) : response.writeHead(404).end(),
  );
}).listen(Number(port), "127.0.0.1");

async function openSession(): Promise<StreamableHTTPServerTransport> {
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    onsessioninitialized: (id) => void sessions.set(id, transport),
  });
  const mcp = new McpServer({ name: "board", version: "1.0.0" });
  mcp.registerResource("board", "board://office", { mimeType: "text/plain" }, async ({ href }) => ({
    contents: [{ uri: href, text: await readFile(file, "utf8") }],
  }));
  await mcp.connect(transport);
  return transport;
}
