// What the author of a server has: its tools, its tokens, a session.
import { createServer } from "node:http";
import { createSessionHandler } from "@durable-mcp/server";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import type { Given, Makers } from "./world.ts";

export function serversGiven({ take }: Given): Makers {
  return {
    ...{ item: () => "tea", price: () => 3, build: () => async (city: string) => `Built ${city}.` },
    order: () => async (_: string, item: string) => `Ordered ${item}.`,
    verifyToken: () => async () => ({ iss: "https://idp.example", sub: "42" }),
    SessionHandlerOptions: () => async () => await take("principal"),
    session: () => ({ update: async (act: any) => act({ items: [], budget: 10 }) }),
    buildServer: () => buildServer,
    handler: async () =>
      createSessionHandler({
        ...{ store: await take("store"), principal: "none", createServer: buildServer },
      }),
    server: () => createServer().listen(0),
  };
}

function buildServer() {
  const mcp = new McpServer({ name: "given", version: "1.0.0" });
  mcp.registerTool("look", {}, async () => ({ content: [{ type: "text", text: "Seen." }] }));
  return mcp;
}
