import {
  connectOwnClient,
  type CreateOwnClient,
  type ToolOutcome,
  toolOutcome,
} from "./own-client.ts";

/** The MCP clients that the session fetch must serve unchanged, each loaded when it is used. */
const loaders = {
  "@ai-sdk/mcp 2": async () => (await import("./ai-sdk-2.ts")).createAiSdk2,
  "@ai-sdk/mcp 1": async () => (await import("./ai-sdk-1.ts")).createAiSdk1,
  "@modelcontextprotocol/sdk 1": async () => (await import("./sdk-1.ts")).createSdk1,
  "@modelcontextprotocol/client 2": async () => (await import("./client-2.ts")).createClient2,
  "@modelcontextprotocol/client 2 (auto)": async () =>
    (await import("./client-2.ts")).createClient2Auto,
} satisfies Record<string, () => Promise<CreateOwnClient>>;

export type ClientName = keyof typeof loaders;

export const clientNames = Object.keys(loaders) as ClientName[];

/** What the tests need of any MCP client. */
export interface McpTestClient {
  listTools: () => Promise<string[]>;
  callTool: (name: string, args: Record<string, unknown>) => Promise<ToolOutcome>;
  close: () => Promise<void>;
}

type ConnectMcpTestClient = (options: {
  url: string;
  fetch: typeof fetch;
}) => Promise<McpTestClient>;

export async function loadClient(name: ClientName): Promise<ConnectMcpTestClient> {
  const create = await loaders[name]();
  return async (options) => {
    const client = await connectOwnClient(create, options);
    return {
      listTools: async () => (await client.listTools()).map((tool) => tool.name),
      callTool: async (tool, args) => toolOutcome(await client.callTool(tool, args)),
      close: client.close,
    };
  };
}
