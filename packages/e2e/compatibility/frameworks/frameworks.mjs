/** Clients of frameworks on a fetch, each with a function that calls a tool; and servers. */
import { createMcpClient } from "@genkit-ai/mcp";
import { MCPToolset } from "@google/adk";
import { MCPClient } from "@mastra/mcp";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { NestFactory } from "@nestjs/core";
import { Payload } from "@nestjs/microservices";
import { MCPServerStreamableHttp } from "@openai/agents";
import { McpController, McpStrategy, StreamableHttpTransport, Tool } from "@rekog/mcp-nest";
import { McpClient } from "@strands-agents/sdk";
import { MCPServer } from "@zuplo/mcp/server";
import { ZodValidator } from "@zuplo/mcp/tools/zod";
import { HTTPStreamableTransport } from "@zuplo/mcp/transport/httpstreamable";
import { genkit } from "genkit";
import { disableGenkitOTelInitialization } from "genkit/tracing";
import { z } from "zod";

// It would take the process's spans and its SIGTERM.
disableGenkitOTelInitialization();

const throwIfError = (result) => {
  if (result?.isError || result?.error) throw new Error(JSON.stringify(result));
};

// @voltagent/core 2.10.0 is not here: it makes its transport itself, and takes no `fetch`.
export const clients = {
  async "@mastra/mcp"(url, fetch) {
    const client = new MCPClient({
      id: crypto.randomUUID(),
      servers: { shop: { url: new URL(url), fetch } },
    });
    const tools = await client.listTools();
    return {
      call: async (name, input) => throwIfError(await tools[`shop_${name}`].execute(input, {})),
      close: () => client.disconnect(),
    };
  },
  async "@openai/agents"(url, fetch) {
    const client = new MCPServerStreamableHttp({ url, name: "shop", fetch });
    await client.connect();
    return { call: (name, input) => client.callTool(name, input), close: () => client.close() };
  },
  async "@strands-agents/sdk"(url, fetch) {
    const transport = new StreamableHTTPClientTransport(new URL(url), { fetch });
    const client = new McpClient({ transport });
    const tools = await client.listTools();
    return {
      async call(name, input) {
        const tool = tools.find((each) => each.name === name);
        throwIfError(await client.callTool(tool, input));
      },
      close: () => client.disconnect(),
    };
  },
  async "@genkit-ai/mcp"(url, fetch) {
    const client = createMcpClient({
      name: "agent",
      serverName: "shop",
      mcpServer: { url, fetch },
    });
    await client.ready();
    const tools = await client.getActiveTools(genkit({}));
    return {
      async call(name, input) {
        const tool = tools.find(({ __action }) => __action.name.endsWith(name));
        throwIfError(await tool(input));
      },
      close: () => client.disable(),
    };
  },
  /** It makes a client for each call. */
  async "@google/adk"(url, fetch) {
    const type = "StreamableHTTPConnectionParams";
    const tools = new MCPToolset({ type, url, transportOptions: { fetch } });
    return {
      async call(name, args) {
        const tool = (await tools.getTools()).find((each) => each.name === name);
        throwIfError(await tool.runAsync({ args, toolContext: {} }));
      },
      close: () => tools.close(),
    };
  },
};

/** `@zuplo/mcp` with a session, which has an empty 404 for one that it does not know. */
async function startZuplo(run) {
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
  const fetch = (input, init) => transport.handleRequest(new Request(input, init));
  return { url: "http://zuplo.test/mcp", fetch, close: () => undefined };
}

/** `@rekog/mcp-nest` with sessions, which has −32001 in a 404 for one that it does not know. */
async function startNest(run) {
  class Shop {
    order({ item }) {
      return { content: [{ type: "text", text: run(item) }] };
    }
  }
  const order = Object.getOwnPropertyDescriptor(Shop.prototype, "order");
  const parameters = z.object({ item: z.string() });
  Tool({ name: "order", description: "Orders.", parameters })(Shop.prototype, "order", order);
  Payload()(Shop.prototype, "order", 0);
  McpController()(Shop);

  const transports = [new StreamableHttpTransport({ statefulMode: true })];
  const strategy = new McpStrategy({ name: "nest", version: "1.0.0", transports });
  const app = await NestFactory.create({ module: Shop, controllers: [Shop] }, { logger: false });
  strategy.setHttpAdapter(app.getHttpAdapter());
  app.connectMicroservice({ strategy });
  await app.startAllMicroservices();
  await app.listen(0, "127.0.0.1");
  const url = `${await app.getUrl()}/mcp`;
  return { url, fetch, close: () => app.close() };
}

/** Servers with one tool. They start anew without the sessions of before. */
export const servers = { "@zuplo/mcp": startZuplo, "@rekog/mcp-nest": startNest };
