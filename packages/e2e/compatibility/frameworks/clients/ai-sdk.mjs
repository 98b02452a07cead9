import { createMCPClient } from "@ai-sdk/mcp";

export async function connect(url, fetch) {
  return await createMCPClient({ transport: { type: "http", url, fetch } });
}
