import { createServer } from "node:http";
import { createSessionHandler } from "@durable-mcp/server";
import { toNodeHandler } from "@durable-mcp/server/node";
import { createSqliteStore } from "@durable-mcp/stores/sqlite";
import { McpServer } from "@modelcontextprotocol/server";
import { z } from "zod";

const handler = createSessionHandler({
  store: createSqliteStore({ path: "server.db" }),
  principal: "none",
  initialState: () => ({ items: [] as string[] }),
  createServer({ session }) {
    const mcp = new McpServer({ name: "cart", version: "1.0.0" });
    mcp.registerTool(
      "add_item",
      { inputSchema: z.object({ item: z.string() }) },
      async ({ item }) => {
        await session.update((state) => {
          state.items.push(item);
        });
        return {
          content: [{ type: "text", text: `The cart holds ${session.state.items.join(", ")}.` }],
        };
      },
    );
    return mcp;
  },
});
createServer(toNodeHandler(handler)).listen(Number(process.argv[2]), "127.0.0.1");
