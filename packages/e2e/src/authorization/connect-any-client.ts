import { createMCPClient } from "@ai-sdk/mcp";
import { createSessionFetch, createSessionSlot } from "@durable-mcp/core";
import type { OAuthConnection } from "@durable-mcp/oauth";
import {
  Client as Client2,
  StreamableHTTPClientTransport as Transport2,
} from "@modelcontextprotocol/client";
import { Client as Client1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as Transport1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { clientFromToolSet } from "../clients/client-from-tool-set.ts";
import { type McpTestClient, toolOutcome } from "../clients/mcp-test-client.ts";
import type { AnyClientName, ConnectWay } from "./any-client-protocol.ts";

type Options = Pick<OAuthConnection, "fetch"> & Partial<Pick<OAuthConnection, "authProvider">>;
type Connect = (url: string, options: Options) => Promise<McpTestClient>;

const clients: Record<AnyClientName, Connect> = {
  "@ai-sdk/mcp 2": async (url, options) =>
    clientFromToolSet(await createMCPClient({ transport: { type: "http", url, ...options } })),
  async "SDK v1"(url, options) {
    const client = new Client1({ name: "e2e-sdk-1", version: "1.0.0" });
    await client.connect(new Transport1(new URL(url), options));
    return testClient(client);
  },
  async "client v2 (auto)"(url, options) {
    const about = { name: "e2e-client-2", version: "1.0.0" };
    const client = new Client2(about, { versionNegotiation: { mode: "auto" } });
    await client.connect(new Transport2(new URL(url), options));
    return testClient(client);
  },
};

function testClient(client: Client1 | Client2): McpTestClient {
  return {
    listTools: async () => (await client.listTools()).tools.map((tool) => tool.name),
    callTool: async (name, args) => toolOutcome(await client.callTool({ name, arguments: args })),
    close: () => client.close(),
  };
}

/** Connects a client of somebody else with what `oauth.connect` gives. */
export async function connectAnyClient(
  { client, way, url }: { client: AnyClientName; way: ConnectWay; url: string },
  { fetch, authProvider }: OAuthConnection,
): Promise<McpTestClient> {
  const ways: Record<ConnectWay, () => Options> = {
    fetch: () => ({ fetch }),
    "fetch and authProvider": () => ({ fetch, authProvider }),
    "session fetch": () => ({
      fetch: createSessionFetch({ url, fetch, slot: createSessionSlot() }),
    }),
  };
  return await clients[client](url, ways[way]());
}
