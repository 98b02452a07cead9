import { MCPClient } from "@mastra/mcp";

export function connect(url, fetch) {
  const id = crypto.randomUUID();
  const shop = { url: new URL(url), fetch, timeout: 300_000 };
  return new MCPClient({ id, servers: { shop } });
}
