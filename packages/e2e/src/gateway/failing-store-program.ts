/**
 * A process of a gateway whose store fails at each n-th operation, before or after it was done:
 *
 *     node failing-store-program.ts <mcp.json> <store> <port> <n>
 */
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { defineMcpClientConnection } from "@durable-mcp/ai-sdk";
import { createGateway } from "@durable-mcp/gateway";
import { toNodeHandler } from "@durable-mcp/server/node";
import { createFaultyStore } from "@durable-mcp/testing";
import { openStore } from "../../../examples/src/programs/open-store.ts";

const [file = "", address = "", port, nth] = process.argv.slice(2);
const every = Number(nth);
const { mcpServers } = JSON.parse(readFileSync(file, "utf8")) as {
  mcpServers: Record<string, { url: string }>;
};
const faulty = createFaultyStore((await openStore(address)).store);
let count = 0;
faulty.meet("*", async (operate) => {
  count += 1;
  if (count % every !== 0) return await operate();
  if ((count / every) % 2 === 0) await operate();
  throw new Error("the store is away");
});
const connections = Object.entries(mcpServers).map(([name, { url }]) => [
  name,
  defineMcpClientConnection({ url, description: "A notebook." }),
]);
const gateway = createGateway({
  connections: Object.fromEntries(connections),
  store: faulty.store,
  principal: () => ({ type: "app" }),
});
const serve = async (request: Request) =>
  request.url.endsWith("/health") ? Response.json({ status: "ok" }) : await gateway.fetch(request);
createServer(toNodeHandler(serve)).listen(Number(port), "127.0.0.1");
