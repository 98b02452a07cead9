import type { ClientConfig, ClientOpener, McpClient } from "@durable-mcp/sessions";
import { maxTimerMs } from "@durable-mcp/core/internal";
import { auth, type OAuthClientProvider } from "@modelcontextprotocol/sdk/client/auth.js";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import {
  CallToolResultSchema,
  type ElicitResult,
  ElicitRequestSchema,
  ListToolsResultSchema,
  McpError,
  ReadResourceResultSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { closeAfterCancellations, trackCancellations } from "./cancellations.ts";

/** Clients of the official SDK, as `@langchain/mcp-adapters` has them. They speak the revisions with `initialize`. */
export const sdkClients: ClientOpener = {
  async createClient(config) {
    const { clientName: name, version, capabilities, signal, onElicitation } = config;
    if (config.protocolVersionDiscovery) {
      throw new Error(
        "The server speaks no revision with initialize, and the client of @modelcontextprotocol/sdk no other. Declare the server with @durable-mcp/ai-sdk.",
      );
    }
    const client = new Client({ name, version }, { capabilities });
    const transport = transportOf(config.transport);
    const cancellations = trackCancellations(transport);
    let protocolVersion = "";
    const setVersion = transport.setProtocolVersion?.bind(transport);
    transport.setProtocolVersion = (negotiated) => {
      protocolVersion = negotiated;
      setVersion?.(negotiated);
    };
    if (onElicitation) {
      client.setRequestHandler(
        ElicitRequestSchema,
        async (request) => (await onElicitation(request as never)) as ElicitResult,
      );
    }
    await client.connect(transport, { signal, timeout: maxTimerMs });
    const initializeResult = {
      protocolVersion,
      capabilities: client.getServerCapabilities() ?? {},
      serverInfo: client.getServerVersion()!,
    };
    const close = () => closeAfterCancellations(client, transport, cancellations);
    return describeClient(client, initializeResult, close);
  },
  renewLogin: async (provider, of) =>
    (await auth(provider as OAuthClientProvider, of)) === "AUTHORIZED",
  createError: async ({ message, code, data, cause }) =>
    code === undefined ? new Error(message, { cause }) : new McpError(code, message, data),
};

function transportOf(to: ClientConfig["transport"]): Transport {
  if (!("type" in to)) return to as unknown as Transport;
  const { type, url, headers, authProvider, fetch } = to;
  const options = {
    ...(headers && { requestInit: { headers } }),
    ...(authProvider && { authProvider: authProvider as OAuthClientProvider }),
    ...(fetch && { fetch }),
  };
  const Transports = { http: StreamableHTTPClientTransport, sse: SSEClientTransport };
  return new Transports[type](new URL(url), options);
}

/** The SDK always sets a timer. The time limits are those of the connection. */
const limits = (options?: { signal?: AbortSignal }) => ({ ...options, timeout: maxTimerMs });

/** The requests of a run. */
function describeClient(
  client: Client,
  initializeResult: McpClient["initializeResult"],
  close: () => Promise<void>,
): McpClient {
  const instructions = client.getInstructions();
  return {
    initializeResult,
    ...(instructions !== undefined && { instructions }),
    async listTools({ params, options } = {}) {
      const request = { method: "tools/list", ...(params && { params }) } as const;
      return await client.request(request, ListToolsResultSchema, limits(options));
    },
    async callTool({ name, arguments: input, options }) {
      const params = { name, ...(input && { arguments: input }) };
      const request = { method: "tools/call", params } as const;
      return await client.request(request, CallToolResultSchema, limits(options));
    },
    async readResource({ uri, options }) {
      const request = { method: "resources/read", params: { uri } } as const;
      return await client.request(request, ReadResourceResultSchema, limits(options));
    },
    close,
  };
}
