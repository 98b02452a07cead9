/** Clients of frameworks on a fetch, each with a function that calls a tool; and a server. */
import { MCPClient } from "@mastra/mcp";
import { MCPServerStreamableHttp } from "@openai/agents";
import { MCPServer } from "@zuplo/mcp/server";
import { ZodValidator } from "@zuplo/mcp/tools/zod";
import { HTTPStreamableTransport } from "@zuplo/mcp/transport/httpstreamable";
import { z } from "zod";

export const clients = {
  async "@mastra/mcp"(url, fetch) {
    const client = new MCPClient({
      id: crypto.randomUUID(),
      servers: { shop: { url: new URL(url), fetch } },
    });
    const tools = await client.listTools();
    return {
      async call(name, input) {
        const result = await tools[`shop_${name}`].execute(input, {});
        if (result?.isError || result?.error) throw new Error(JSON.stringify(result));
      },
      close: () => client.disconnect(),
    };
  },
  async "@openai/agents"(url, fetch) {
    const client = new MCPServerStreamableHttp({ url, name: "shop", fetch });
    await client.connect();
    return { call: (name, input) => client.callTool(name, input), close: () => client.close() };
  },
};

/** `@zuplo/mcp` with a session, which has an empty 404 for one that it does not know. @returns a `fetch` */
export async function startZuplo(run) {
  const server = new MCPServer({ name: "zuplo", version: "1.0.0" });
  server.addTool({
    name: "order",
    description: "Orders.",
    validator: new ZodValidator(z.object({ item: z.string() })),
    handler: ({ item }) => ({ content: [{ type: "text", text: run(item) }], isError: false }),
  });
  const transport = new HTTPStreamableTransport({ enableSessions: true });
  await transport.connect();
  server.withTransport(transport);
  return (input, init) => transport.handleRequest(new Request(input, init));
}
