import {
  Client,
  type ClientOptions,
  StreamableHTTPClientTransport,
} from "@modelcontextprotocol/client";
import { type ConnectMcpTestClient, toolOutcome } from "./mcp-test-client.ts";

/** `@modelcontextprotocol/client` 2 as it comes: `initialize`, no probe. */
export const connectClient2 = connectWith({});

/** `@modelcontextprotocol/client` 2 with `server/discover` first. */
export const connectClient2Auto = connectWith({ versionNegotiation: { mode: "auto" } });

function connectWith(options: ClientOptions): ConnectMcpTestClient {
  return async ({ url, fetch }) => {
    const client = new Client({ name: "e2e-client-2", version: "1.0.0" }, options);
    await client.connect(new StreamableHTTPClientTransport(new URL(url), { fetch }));
    return {
      listTools: async () => (await client.listTools()).tools.map((tool) => tool.name),
      callTool: async (name, args) => toolOutcome(await client.callTool({ name, arguments: args })),
      close: () => client.close(),
    };
  };
}
