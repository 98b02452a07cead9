import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { toNodeHandler } from "@modelcontextprotocol/node";
import {
  acceptedContent,
  createMcpHandler,
  inputRequired,
  McpServer,
} from "@modelcontextprotocol/server";
import { z } from "zod";

const brewMs = 2_000;
const say = (said: string) => ({ content: [{ type: "text" as const, text: said }] });

/** A server of revision 2026-07-28: `brew` takes its time, `order` asks a person. It counts what was done, by item. */
export async function startTeaHouse() {
  const ledger: string[] = [];
  const inputSchema = z.object({ item: z.string() });
  const create = () => {
    const server = new McpServer({ name: "tea", version: "1.0.0" });
    server.registerTool("brew", { description: "Brews.", inputSchema }, async ({ item }) => {
      ledger.push(`${item} begun`);
      await sleep(brewMs);
      return say("It is brewed.");
    });
    server.registerTool("order", { description: "Orders.", inputSchema }, ({ item }, context) => {
      const { inputResponses } = context.mcpReq;
      const cups = acceptedContent(inputResponses, "cups", z.object({ cups: z.number() }))?.cups;
      if (cups === undefined) {
        const properties = { cups: { type: "integer" as const, title: "Cups" } };
        const requestedSchema = { type: "object" as const, properties, required: ["cups"] };
        const cup = inputRequired.elicit({ message: "How many?", requestedSchema });
        return inputRequired({ inputRequests: { cups: cup } });
      }
      ledger.push(`${item} begun`);
      return say(`${cups} cups are ordered.`);
    });
    return server;
  };
  const note = async (request: IncomingMessage) =>
    ledger.push(`${/\w+ \d+/.exec(await text(request))?.[0]} asked`);
  const serve = toNodeHandler(createMcpHandler(create, { legacy: "reject" }));
  const server = createServer((request, response) => {
    if (request.url === "/asked") void note(request).finally(() => response.end());
    else void serve(request as never, response);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    /** How often the model was asked about a message, or its call was begun. */
    count: (said: string, what: "asked" | "begun") =>
      ledger.filter((line) => line === `${said} ${what}`).length,
  };
}

export type TeaHouse = Awaited<ReturnType<typeof startTeaHouse>>;
