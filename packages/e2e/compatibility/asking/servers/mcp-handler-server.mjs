/** `mcp-handler` 2, which passes the check of `requestState` on to SDK v2. */
import * as sdk from "@modelcontextprotocol/server";
import { createMcpHandler } from "mcp-handler";
import { serveFetch } from "../../../src/fixtures/serve-fetch.ts";
import { createOrder, orderInput, orderTool } from "./order.mjs";

const { order, verify } = createOrder(sdk);
const { name, description } = orderTool;
const handler = createMcpHandler(
  (server) => {
    server.registerTool(name, { description, inputSchema: orderInput }, (args, { mcpReq }) =>
      order(args, mcpReq.inputResponses),
    );
  },
  { requestState: { verify } },
);
serveFetch(handler);
