/** `tmcp`, which does not use the SDK: two rounds, and the handler starts from its top in each. */
import { ZodJsonSchemaAdapter } from "@tmcp/adapter-zod";
import { HttpTransport } from "@tmcp/transport-http";
import { McpServer } from "tmcp";
import { z } from "zod";
import { serveFetch } from "../../../src/fixtures/serve-fetch.ts";
import { orderInput, orderTool, say, yesOrNo } from "./order.mjs";

const server = new McpServer(
  { name: "asking", version: "1.0.0", description: "A shop." },
  { adapter: new ZodJsonSchemaAdapter(), capabilities: { tools: {} } },
);
const delivery = z.object({ time: z.string() });
server.tool({ ...orderTool, schema: orderInput, replayable: true }, async ({ item }) => {
  const confirmed = await server.elicitation(`Order ${item}?`, yesOrNo, { key: "confirm" });
  if (confirmed.action !== "accept") return say(`No ${item}.`);
  const asked = await server.elicitation("When?", delivery, { key: "delivery" });
  return say(asked.action === "accept" ? `Ordered: ${item}` : `No ${item}.`);
});
const transport = new HttpTransport(server, { path: "/mcp" });
serveFetch(
  async (request) => (await transport.respond(request)) ?? new Response(null, { status: 404 }),
);
