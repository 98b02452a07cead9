/** Servers of public reports. */
import { NestFactory } from "@nestjs/core";
import { Payload } from "@nestjs/microservices";
import { McpController, McpStrategy, StreamableHttpTransport, Tool } from "@rekog/mcp-nest";
import { MCPServer } from "@zuplo/mcp/server";
import { ZodValidator } from "@zuplo/mcp/tools/zod";
import { HTTPStreamableTransport } from "@zuplo/mcp/transport/httpstreamable";
import { z } from "zod";

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
