import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { type ConnectMcpTestClient, toolOutcome } from "./mcp-test-client.ts";

/** `@modelcontextprotocol/sdk` 1. */
export const connectSdk1: ConnectMcpTestClient = async ({ url, fetch }) => {
  const client = new Client({ name: "e2e-sdk-1", version: "1.0.0" });
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { fetch }));
  return {
    listTools: async () => (await client.listTools()).tools.map((tool) => tool.name),
    callTool: async (name, args) => toolOutcome(await client.callTool({ name, arguments: args })),
    close: () => client.close(),
  };
};
