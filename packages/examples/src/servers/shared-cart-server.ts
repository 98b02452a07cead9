/**
 * A replica of an MCP server whose users have a cart each, in the store. Clients of both eras find the same cart, at
 * whichever replica they ask.
 *
 *     node shared-cart-server.ts <port> <path of a SQLite file, or the URL of a PostgreSQL or Redis server>
 *
 * It prints a line when a call has begun.
 */
import { createServer } from "node:http";
import { setTimeout as wait } from "node:timers/promises";
import type { Principal } from "@durable-mcp/core";
import { createSessionHandler, type ServerSession } from "@durable-mcp/server";
import { toNodeHandler } from "@durable-mcp/server/node";
import { serveTasks, taskTool } from "@durable-mcp/server/tasks";
import {
  acceptedContent,
  createMcpHandler,
  inputRequired,
  McpServer,
} from "@modelcontextprotocol/server";
import { z } from "zod";
import { openStore } from "../programs/open-store.ts";

interface Cart {
  items: string[];
}

const [, , port, place = ""] = process.argv;
const handler = createSessionHandler<Cart>({
  store: (await openStore(place)).store,
  principal: principalOf,
  stateScope: "principal", // one cart for each user, in all of its sessions and without one
  stateless: createMcpHandler, // serves revision 2026-07-28, which has no sessions
  initialState: () => ({ items: [] }),
  createServer({ session, tasks }) {
    const mcp = createCart(session);
    serveTasks(mcp, tasks);
    addLastingTools(mcp);
    return mcp;
  },
  // The AI SDK's client does not come back for an answer whose stream broke.
  responseFormat: ({ clientInfo }) => (clientInfo?.name.startsWith("ai-sdk") ? "json" : "sse"),
  timeouts: { leaseMs: 2_000 },
});
const server = createServer(toNodeHandler(handler)).listen(Number(port), "127.0.0.1");

// A deploy: let calls end, then go. Clients go on at another replica.
process.once("SIGTERM", () => {
  void handler.drain().then(() => server.close(() => process.exit(0)));
});

/** A real server verifies a token here. */
function principalOf(request: Request): Principal | undefined {
  if (request.headers.get("authorization") !== "Bearer of-ada") return undefined;
  return { type: "user", issuer: "https://idp.example", id: "ada" };
}

function createCart(session: ServerSession<Cart>): McpServer {
  const mcp = new McpServer({ name: "cart", version: "1.0.0" });
  mcp.registerTool(
    "add_item",
    { description: "Adds an item to the cart.", inputSchema: z.object({ item: z.string() }) },
    async ({ item }) => {
      console.log(item);
      await wait(100); // looks whether it is in stock
      const { length } = await session.update((cart) => {
        cart.items.push(item);
        return cart.items;
      });
      await wait(100); // packs it
      return texts([`${length} items`]);
    },
  );
  mcp.registerTool("list_items", { description: "Lists the items, one a line." }, () =>
    texts(session.state.items),
  );
  return mcp;
}

const confirmation = z.object({ ok: z.boolean() });

/** A tool that asks a person, and one that works for some seconds. */
function addLastingTools(mcp: McpServer): void {
  const inputSchema = z.object({});
  mcp.registerTool("check_out", { description: "Buys.", inputSchema }, (_, { mcpReq }) => {
    if (mcpReq.inputResponses === undefined) {
      console.log("check_out");
      const question = { message: "Buy it all?", requestedSchema: confirmation };
      return inputRequired({ inputRequests: { buy: inputRequired.elicit(question) } });
    }
    const answer = acceptedContent(mcpReq.inputResponses, "buy", confirmation);
    return texts([answer?.ok ? "It is bought." : "Nothing was bought."]);
  });
  // It may run twice, so another replica begins it again.
  const config = { description: "Delivers.", inputSchema, runAgain: true };
  taskTool(mcp, "deliver", config, async (_, { task }) => {
    console.log("deliver");
    await task?.status("It is packed.");
    await wait(2_000);
    return texts(["It is delivered."]);
  });
}

function texts(lines: string[]) {
  return { content: [{ type: "text" as const, text: lines.join("\n") }] };
}
