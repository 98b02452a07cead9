import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { defineMcpClientConnection } from "@durable-mcp/ai-sdk";
import { createGateway } from "@durable-mcp/gateway";
import { toNodeHandler } from "@durable-mcp/server/node";
import { openStore } from "@durable-mcp/stores/open";

const [, , url = "", address = ""] = process.argv;
const { store } = await openStore(address);
const gateway = createGateway({
  connections: { mcp: defineMcpClientConnection({ url, description: "A counter." }) },
  store,
  principal: () => ({ type: "app" }),
});
const server = createServer(toNodeHandler(gateway.fetch));
server.listen(0, "127.0.0.1", () => process.send?.((server.address() as AddressInfo).port));
process.on("disconnect", () => process.exit());
