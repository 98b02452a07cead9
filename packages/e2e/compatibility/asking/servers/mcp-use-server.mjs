/** `mcp-use` 2, with its own copy of SDK v2. */
import * as mcpUse from "mcp-use";
import { createOrder, orderInput, orderTool, port } from "./order.mjs";

const { order, verify } = createOrder(mcpUse);
const server = new mcpUse.MCPServer({
  name: "asking",
  version: "1.0.0",
  requestState: { verify },
});
server.tool({ ...orderTool, inputSchema: orderInput }, (args, { inputResponses }) =>
  order(args, inputResponses),
);
await server.listen(port);
