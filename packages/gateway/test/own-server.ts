import { createMemoryStore } from "@durable-mcp/core";
import { createSessionHandler } from "@durable-mcp/server";
import { toNodeHandler } from "@durable-mcp/server/node";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { ElicitResultSchema } from "@modelcontextprotocol/sdk/types.js";
import { onTestFinished } from "vitest";
import { listen } from "../../server/test/listen.ts";
import { z } from "zod";

/** A server of `@durable-mcp/server`, whose streams have event ids. Its tool `work` waits until the test lets it go on. */
export async function startOwnServer() {
  const going = new Map<string, PromiseWithResolvers<void>>();
  const cancelled: string[] = [];
  const waitingFor = (key: string) => {
    const found = going.get(key) ?? Promise.withResolvers<void>();
    going.set(key, found);
    return found;
  };
  let done = 0;
  const handler = createSessionHandler({
    principal: "none",
    store: createMemoryStore(),
    createServer: () => {
      const mcp = new McpServer({ name: "own", version: "1.0.0" });
      mcp.registerTool(
        "work",
        { inputSchema: { key: z.string() } },
        async ({ key }, { _meta: meta, sendNotification, signal }) => {
          const progressToken = meta?.progressToken;
          const tell = async (progress: number) => {
            if (progressToken === undefined) return;
            const params = { progressToken, progress };
            await sendNotification({ method: "notifications/progress", params });
          };
          await tell(1);
          signal.addEventListener("abort", () => cancelled.push(key));
          await waitingFor(key).promise;
          await tell(2);
          done += 1;
          return { content: [{ type: "text", text: `${key} done` }] };
        },
      );
      mcp.registerTool("ask-anyone", {}, async () => {
        const requestedSchema = { type: "object", properties: {} } as const;
        const asked = await mcp.server.elicitInput({ message: "Anyone?", requestedSchema });
        return { content: [{ type: "text", text: asked.action }] };
      });
      mcp.registerTool("ask", {}, async ({ sendRequest }) => {
        const requestedSchema = { type: "object", properties: { size: { type: "string" } } };
        const params = { message: "Which size?", requestedSchema };
        const asked = await sendRequest(
          { method: "elicitation/create", params } as never,
          ElicitResultSchema,
        );
        done += 1;
        return { content: [{ type: "text", text: `size ${String(asked.content?.["size"])}` }] };
      });
      return mcp;
    },
  });
  const server = await listen(toNodeHandler(handler));
  onTestFinished(server[Symbol.asyncDispose]);
  return {
    url: server.url,
    go: (key: string) => waitingFor(key).resolve(),
    cancelled,
    get done() {
      return done;
    },
  };
}
