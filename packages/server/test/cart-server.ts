import { McpServer as McpServerOfSdk1 } from "@modelcontextprotocol/sdk/server/mcp.js";
import { inputRequired, McpServer, type ServerContext } from "@modelcontextprotocol/server";
import { z } from "zod";
import type { ConnectableServer, ServerSession } from "../src/index.ts";

export interface Cart {
  items: string[];
  [more: string]: unknown;
}

const text = (value: string) => ({ content: [{ type: "text" as const, text: value }] });
const about = { name: "cart", version: "1.0.0" };
/** The argument that carries a handle, in scope `{ handle: "cart" }`. */
const cart = z.string().optional();

/** What the tools of a test may do besides. */
export interface CartHooks {
  readonly whenSlow?: (signal: AbortSignal) => Promise<void>;
}

/** A server of `@modelcontextprotocol/server`, for clients of both eras. */
export function createCartServer(session: ServerSession<Cart>, hooks: CartHooks = {}): McpServer {
  const mcp = new McpServer(about);
  const handleOf = () => text(session.handle);
  const inputSchema = z.object({ item: z.string(), cart });
  const tool = (
    name: string,
    run: (args: z.infer<typeof inputSchema>, context: ServerContext) => unknown,
  ) => mcp.registerTool(name, { inputSchema }, run as never);
  tool("add", ({ item }) => {
    session.state.items.push(item);
    return text(`${session.state.items.length} items`);
  });
  tool("add_for_handle", ({ item }) => {
    session.state.items.push(item);
    return handleOf();
  });
  tool("update_for_handle", async ({ item }) => {
    await session.update(({ items }) => items.push(item));
    return handleOf();
  });
  mcp.registerTool("handle", { inputSchema: z.object({ cart }) }, handleOf);
  tool("update", async ({ item }) => {
    await session.update(({ items }) => items.push(item));
    return text("updated");
  });
  mcp.registerTool("list", { inputSchema: z.object({ cart }) }, () =>
    text(session.state.items.join(",")),
  );
  tool("add_with_progress", async ({ item }, { mcpReq }) => {
    session.state.items.push(item);
    const params = { progressToken: 0, progress: 1 };
    await mcpReq.notify({ method: "notifications/progress", params });
    session.state.items.push(`${item} again`);
    return text("added");
  });
  mcp.registerTool(
    "spoil",
    { inputSchema: z.object({ kind: z.enum(["bigint", "date"]), cart }) },
    ({ kind }) => {
      session.state["spoiled"] = kind === "bigint" ? 10n : new Date(0);
      return text("spoiled");
    },
  );
  tool("add_slowly", async ({ item }, { mcpReq }) => {
    session.state.items.push(item);
    await hooks.whenSlow?.(mcpReq.signal);
    return text("added slowly");
  });
  mcp.registerTool("order", { inputSchema: z.object({ cart }) }, (_args, { mcpReq }) => {
    if (mcpReq.inputResponses) return text(`ordered ${session.state.items.join(",")}`);
    session.state.items.push("reserved");
    return inputRequired({
      inputRequests: {
        confirm: inputRequired.elicit({
          message: "Order?",
          requestedSchema: { type: "object", properties: { ok: { type: "boolean" } } },
        }),
      },
    });
  });
  mcp.registerTool("client", { inputSchema: z.object({}) }, () => {
    const { protocolVersion, clientInfo, clientCapabilities } = session;
    return text(JSON.stringify({ protocolVersion, name: clientInfo?.name, clientCapabilities }));
  });
  mcp.registerTool("authorized", { inputSchema: z.object({}) }, (_args, { http }) =>
    text(String(http?.authInfo?.clientId)),
  );
  mcp.registerPrompt("praise", { argsSchema: z.object({ cart }) }, () => ({
    messages: [
      { role: "user", content: { type: "text", text: `Praise ${session.state.items.join(",")}` } },
    ],
  }));
  mcp.registerResource("cart", "cart://items", {}, (uri) => ({
    contents: [{ uri: uri.href, text: session.state.items.join(",") }],
  }));
  return mcp;
}

/** The same of `@modelcontextprotocol/sdk` 1, as far as the tests need it. */
export function createOldCartServer(session: ServerSession<Cart>): ConnectableServer {
  const mcp = new McpServerOfSdk1(about);
  const shape = { item: z.string(), cart };
  mcp.registerTool("add", { inputSchema: shape }, ({ item }) => {
    session.state.items.push(item);
    return text(`${session.state.items.length} items`);
  });
  mcp.registerTool("list", { inputSchema: { cart } }, () => text(session.state.items.join(",")));
  return mcp;
}
