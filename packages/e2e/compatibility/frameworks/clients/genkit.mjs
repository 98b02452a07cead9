import { createMcpClient } from "@genkit-ai/mcp";

export async function connect(url, fetch) {
  const shop = createMcpClient({ name: "agent", serverName: "shop", mcpServer: { url, fetch } });
  await shop.ready();
  return shop;
}
