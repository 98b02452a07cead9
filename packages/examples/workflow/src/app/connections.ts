/** The servers and the keys. Only steps import this module. */
import { defineMcpClientConnection } from "@durable-mcp/ai-sdk";
import { createConnectionSteps } from "@durable-mcp/workflow/steps";

export const steps = createConnectionSteps({
  connections: () => ({
    cart: defineMcpClientConnection({
      url: process.env["CART_URL"]!,
      description: "The user's shopping cart.",
      session: "stateful",
    }),
    browser: defineMcpClientConnection({
      url: process.env["BROWSER_URL"]!,
      description: "A browser that stays open.",
      session: "stateful",
    }),
  }),
  keys: { current: process.env["SEALING_KEY"]! },
});
