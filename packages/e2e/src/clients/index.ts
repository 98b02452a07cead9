import type { ConnectMcpTestClient } from "./mcp-test-client.ts";

/** The MCP clients that the session fetch must serve unchanged, each loaded when it is used. */
const loaders = {
  "@ai-sdk/mcp 2": async () => (await import("./ai-sdk-2.ts")).connectAiSdk2,
  "@ai-sdk/mcp 1": async () => (await import("./ai-sdk-1.ts")).connectAiSdk1,
  "@modelcontextprotocol/sdk 1": async () => (await import("./sdk-1.ts")).connectSdk1,
  "@modelcontextprotocol/client 2": async () => (await import("./client-2.ts")).connectClient2,
  "@modelcontextprotocol/client 2 (auto)": async () =>
    (await import("./client-2.ts")).connectClient2Auto,
} satisfies Record<string, () => Promise<ConnectMcpTestClient>>;

export type ClientName = keyof typeof loaders;

export const clientNames = Object.keys(loaders) as ClientName[];

export function loadClient(name: ClientName): Promise<ConnectMcpTestClient> {
  return loaders[name]();
}
