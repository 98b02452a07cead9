import { defineMcpClientConnection, type McpClientConnection } from "@durable-mcp/ai-sdk";
import type { OAuth } from "@durable-mcp/oauth";
import { setting } from "./settings";

/** The MCP servers of the agent. Yours take the places of these. */
export function createConnections(oauth: OAuth): Record<string, McpClientConnection> {
  const browser = process.env["BROWSER_URL"];
  return {
    // A server that remembers: all messages of a chat reach the same MCP session.
    cart: defineMcpClientConnection({
      url: setting("CART_URL"),
      description: "The user's shopping cart.",
      session: "stateful",
    }),
    // A server that asks a person, or takes long: the call waits in the store.
    delivery: defineMcpClientConnection({
      url: setting("DELIVERY_URL"),
      description: "Orders that are delivered.",
      // As long as a step waits for a task itself.
      waiting: { afterMs: 2_000 },
    }),
    // A server that wants a sign-in: each user has tokens of their own.
    account: defineMcpClientConnection({
      url: setting("ACCOUNT_URL"),
      description: "The user's account at the tea club.",
      auth: oauth,
    }),
    ...(browser && {
      browser: defineMcpClientConnection({
        url: browser,
        description: "A browser that stays open between messages.",
        session: "stateful",
      }),
    }),
  };
}
