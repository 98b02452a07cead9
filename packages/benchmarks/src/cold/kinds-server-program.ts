/**
 * A server of the revision without sessions: /shop/mcp for everybody, /private/mcp with a token of its own authorization
 * server, /token. Its tool `order` asks before it orders.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler, inputRequired, McpServer } from "@modelcontextprotocol/server";
import { z } from "zod";

const say = (text: string) => ({ content: [{ type: "text" as const, text }] });
const requestedSchema = { type: "object", properties: { ok: { type: "boolean" } } } as const;

function createShop(): McpServer {
  const mcp = new McpServer({ name: "shop", version: "1.0.0" });
  mcp.registerTool("count", { inputSchema: z.object({}) }, () => say("1"));
  mcp.registerTool("order", { inputSchema: z.object({}) }, (_, { mcpReq }) => {
    if (mcpReq.inputResponses !== undefined) return say("ordered");
    const confirm = inputRequired.elicit({ message: "Order?", requestedSchema });
    return inputRequired({ inputRequests: { confirm } });
  });
  return mcp;
}

const serveShop = toNodeHandler(createMcpHandler(createShop, { legacy: "reject" }));
const resourceMetadata = "/.well-known/oauth-protected-resource/private/mcp";
const token = "a-token-of-this-server";

const server = createServer((request, response) => void serve(request, response));
server.keepAliveTimeout = 600_000;
server.listen(0, "127.0.0.1", () => process.send!((server.address() as AddressInfo).port));
process.on("disconnect", () => process.exit());

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const json = (value: object) =>
    void response
      .writeHead(200, { "content-type": "application/json", "cache-control": "no-store" })
      .end(JSON.stringify(value));
  switch (request.url) {
    case resourceMetadata:
      return json({ resource: `${origin}/private/mcp`, authorization_servers: [origin] });
    case "/.well-known/oauth-authorization-server":
      return json({
        issuer: origin,
        authorization_endpoint: `${origin}/authorize`,
        token_endpoint: `${origin}/token`,
        response_types_supported: ["code"],
        code_challenge_methods_supported: ["S256"],
        token_endpoint_auth_methods_supported: ["client_secret_basic"],
      });
    case "/token":
      return json({ access_token: token, token_type: "Bearer", expires_in: 86_400 });
    case "/private/mcp":
      if (request.headers.authorization !== `Bearer ${token}`) {
        const challenge = `Bearer resource_metadata="${origin}${resourceMetadata}"`;
        return void response.writeHead(401, { "www-authenticate": challenge }).end();
      }
  }
  // Its type of a request does not know `exactOptionalPropertyTypes`.
  await serveShop(request as Parameters<typeof serveShop>[0], response);
}
