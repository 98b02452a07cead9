import { MCPServerStreamableHttp } from "@openai/agents";

export async function connect(url, fetch) {
  const shop = new MCPServerStreamableHttp({ name: "shop", url, fetch, timeout: 300_000 });
  await shop.connect();
  return shop;
}
