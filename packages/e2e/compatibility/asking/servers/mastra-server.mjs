/**
 * `@mastra/mcp` 2: a tool that suspends. With `MASTRA_STATE_KEY=given` it signs its `requestState`
 * with a key that outlives it,
 * otherwise with one that it makes when it starts.
 */
import { createServer } from "node:http";
import { createTool } from "@mastra/core/tools";
import { MCPServer } from "@mastra/mcp";
import { z } from "zod";
import { orderInput, orderTool, port, stateKey, stateSeconds, yesOrNo } from "./order.mjs";

const order = createTool({
  id: orderTool.name,
  description: orderTool.description,
  inputSchema: orderInput,
  suspendSchema: z.object({ message: z.string() }),
  resumeSchema: yesOrNo,
  async execute({ item }, { suspend, resumeData }) {
    if (resumeData === undefined) return await suspend({ message: `Order ${item}?` });
    return { ordered: `Ordered: ${item}` };
  },
});
const server = new MCPServer({
  id: "asking",
  name: "asking",
  version: "1.0.0",
  tools: { order },
  requestState: {
    ttlSeconds: stateSeconds,
    ...(process.env["MASTRA_STATE_KEY"] === "given" && { key: stateKey }),
  },
});
createServer((req, res) => {
  const url = new URL(req.url, `http://127.0.0.1:${port}`);
  void server.startHTTP({ url, httpPath: "/mcp", req, res });
}).listen(port, "127.0.0.1");
