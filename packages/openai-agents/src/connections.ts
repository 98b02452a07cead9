import { maxTimerMs, within } from "@durable-mcp/core/internal";
import {
  type ClientConfig,
  type ClientOpener,
  defineMcpClientConnection as define,
  type McpClient,
  type McpClientConnection,
  type McpClientConnectionOptions,
} from "@durable-mcp/sessions";
import * as mcp from "@modelcontextprotocol/client";

/**
 * Declares an MCP server that agents connect to over Streamable HTTP, with clients of `@modelcontextprotocol/client` 2.
 *
 * @throws {McpSessionError} `CONNECTION_INVALID`, naming the field and how to fix it
 */
export const defineMcpClientConnection = (
  options: McpClientConnectionOptions<undefined>,
): McpClientConnection<undefined> => define(options, clients);

/** The client always sets a timer. The time limits are those of the connection. */
const limits = (options?: { signal?: AbortSignal }) => ({ ...options, timeout: maxTimerMs });

const clients: ClientOpener = {
  async createClient({ clientName: name, version, capabilities, signal, onElicitation, ...of }) {
    const options = { versionNegotiation: { mode: "auto" }, capabilities } as mcp.ClientOptions;
    const client = new mcp.Client({ name, version }, options);
    if (onElicitation) client.setRequestHandler("elicitation/create", onElicitation as never);
    const transport = transportOf(of.transport as HttpTransport);
    await client.connect(transport, limits({ signal }));
    return describeClient(client, async () => {
      if ("terminateSession" in transport)
        await within(2_000, Promise.allSettled([transport.terminateSession()]));
      await client.close();
    });
  },
  renewLogin: async (provider, of) =>
    (await mcp.auth(provider as mcp.OAuthClientProvider, of)) === "AUTHORIZED",
  createError: async ({ message, code, data, cause }) =>
    code === undefined ? new Error(message, { cause }) : new mcp.ProtocolError(code, message, data),
};

type HttpTransport = Extract<ClientConfig["transport"], { readonly url: string }>;

function transportOf({ type, url, headers, authProvider, fetch }: HttpTransport) {
  const all = { requestInit: { headers }, authProvider, fetch };
  const Transport = type === "sse" ? mcp.SSEClientTransport : mcp.StreamableHTTPClientTransport;
  return new Transport(new URL(url), all as mcp.StreamableHTTPClientTransportOptions);
}

/** The requests of a run. */
function describeClient(client: mcp.Client, close: () => Promise<void>): McpClient {
  const known = new Map<string, mcp.Tool>();
  return {
    initializeResult: {
      protocolVersion: client.getNegotiatedProtocolVersion(),
      capabilities: client.getServerCapabilities(),
      serverInfo: client.getServerVersion(),
    },
    instructions: client.getInstructions(),
    listTools: async ({ params, options } = {}) => await client.listTools(params, limits(options)),
    async callTool({ name, arguments: input, options }) {
      // It checks results by the definition, too, and gives nobody those that fail.
      const toolDefinition = known.get(name) ?? { name, inputSchema: { type: "object" } };
      const own = { ...limits(options), toolDefinition };
      return await client.callTool({ name, arguments: input! }, own);
    },
    readResource: async ({ uri, options }) => await client.readResource({ uri }, limits(options)),
    close,
    // In a tool's definition it reads which arguments go into headers.
    toolsFromDefinitions({ tools }: { readonly tools: readonly mcp.Tool[] }) {
      for (const { outputSchema: _, ...tool } of tools) known.set(tool.name, tool);
      return {};
    },
  } as McpClient;
}
