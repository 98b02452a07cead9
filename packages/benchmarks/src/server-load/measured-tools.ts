import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { z } from "zod";

/**
 * The server that all measured programs serve: `greet`, `count`, which changes what the session keeps, and `report`, which
 * sends progress messages before it answers.
 *
 * @param count adds one to the number of the session, and returns it
 */
export function createMeasuredTools(count: () => number): McpServer {
  const mcp = new McpServer({ name: "measured", version: "1.0.0" });
  mcp.registerTool("greet", { inputSchema: { name: z.string() } }, ({ name }) => ({
    content: [{ type: "text", text: `Hello, ${name}!` }],
  }));
  mcp.registerTool("count", { inputSchema: { name: z.string() } }, ({ name }) => ({
    content: [{ type: "text", text: `Hello, ${name}! This is call ${count()}.` }],
  }));
  mcp.registerTool(
    "report",
    { inputSchema: { name: z.string(), messages: z.number(), characters: z.number() } },
    async ({ name, messages, characters }, { _meta, sendNotification }) => {
      const message = "x".repeat(characters);
      for (let progress = 1; progress <= messages; progress++) {
        const params = { progressToken: _meta!.progressToken!, progress, message };
        await sendNotification({ method: "notifications/progress", params });
      }
      return { content: [{ type: "text", text: `Hello, ${name}!` }] };
    },
  );
  return mcp;
}
