import { createServer } from "node:http";
import { createSessionHandler, type ServerSession } from "@durable-mcp/server";
import { toNodeHandler } from "@durable-mcp/server/node";
import { createSqliteStore } from "@durable-mcp/stores/sqlite";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { z } from "zod";

const port = Number(process.env["PORT"] ?? 3000);

function createCart(session: ServerSession<{ items: string[] }>): McpServer {
  const mcp = new McpServer({ name: "cart", version: "1.0.0" });
  const inputSchema = z.object({ item: z.string(), cart: z.string().optional() });
  mcp.registerTool("add_item", { inputSchema }, async ({ item }) => {
    const items = await session.update((state) => {
      state.items.push(item);
      return state.items;
    });
    const text = `${items.join(", ")} (cart: ${session.handle})`;
    return { content: [{ type: "text", text }] };
  });
  return mcp;
}

const handler = createSessionHandler({
  store: createSqliteStore({ path: "sessions.db" }),
  principal: "none",
  stateScope: { handle: "cart" },
  stateless: createMcpHandler,
  initialState: () => ({ items: [] as string[] }),
  createServer: ({ session }) => createCart(session),
});

createServer(toNodeHandler(handler)).listen(port, "127.0.0.1");
