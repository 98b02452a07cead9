import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { McpClient } from "@strands-agents/sdk";

export function connect(url, fetch) {
  const transport = new StreamableHTTPClientTransport(new URL(url), { fetch });
  return new McpClient({ transport });
}
