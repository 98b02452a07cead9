import type { MCPClientConfig, OAuthClientProvider } from "@ai-sdk/mcp";
import {
  type ClientOpener,
  defineMcpClientConnection as define,
  type McpClientConnection,
  type McpClientConnectionOptions as OptionsOfAny,
  type ToolNamePrefix,
} from "@durable-mcp/sessions";

/** Clients of `@ai-sdk/mcp`, which only steps load. */
const aiSdkClients: ClientOpener = {
  async createClient({ signal, onElicitation, ...config }) {
    const { createMCPClient, ElicitationRequestSchema } = await import("@ai-sdk/mcp");
    const initializationOptions = { signal };
    const client = await createMCPClient({ ...config, initializationOptions } as MCPClientConfig);
    if (onElicitation) client.onElicitationRequest(ElicitationRequestSchema, onElicitation);
    return client;
  },
  async renewLogin(provider, of) {
    const { auth } = await import("@ai-sdk/mcp");
    return (await auth(provider as OAuthClientProvider, of)) === "AUTHORIZED";
  },
  async createError(parts) {
    const { MCPClientError } = await import("@ai-sdk/mcp");
    return new MCPClientError(parts as never);
  },
};

/** The options of a connection over Streamable HTTP. */
export interface McpClientConnectionOptions extends Omit<OptionsOfAny<undefined>, "schemas"> {}

/**
 * Declares an MCP server that the steps connect to over Streamable HTTP, with clients of `@ai-sdk/mcp`. The steps take
 * definitions of `@durable-mcp/ai-sdk`, too.
 *
 * @example
 * defineMcpClientConnection({
 *   url: "https://shop.example/mcp",
 *   description: "The user's shopping cart.",
 *   session: "stateful",
 * })
 *
 * @throws {McpSessionError} `CONNECTION_INVALID`, naming the field and how to fix it
 */
export function defineMcpClientConnection(
  options: McpClientConnectionOptions,
): McpClientConnection<undefined> {
  return define<undefined, ToolNamePrefix>(options, aiSdkClients);
}
