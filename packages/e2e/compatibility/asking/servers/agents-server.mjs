/** `agents/mcp/server`, run by Node instead of a Worker. */
import * as sdk from "@modelcontextprotocol/server";
import { createMcpHandler } from "agents/mcp/server";
import { serveFetch } from "../../../src/fixtures/serve-fetch.ts";
import { createOrder, orderInput, orderTool } from "./order.mjs";

const { order, verify } = createOrder(sdk);
const { name, description } = orderTool;
const handler = createMcpHandler(() => {
  const server = new sdk.McpServer(
    { name: "asking", version: "1.0.0" },
    { requestState: { verify } },
  );
  server.registerTool(name, { description, inputSchema: orderInput }, (args, { mcpReq }) =>
    order(args, mcpReq.inputResponses),
  );
  return server;
});
const context = { waitUntil: () => undefined, passThroughOnException: () => undefined };
serveFetch((request) => handler(request, {}, context));
