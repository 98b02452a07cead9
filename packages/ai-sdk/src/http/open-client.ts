import {
  createMCPClient,
  type MCPClient,
  type MCPClientConfig,
  type OAuthClientProvider,
} from "@ai-sdk/mcp";
import { combineSignals } from "@durable-mcp/core/internal";
import type { ConnectionContext } from "../connection/connection-context.ts";
import { answerElicitations, clientDescription } from "../connection/client-capabilities.ts";
import type { McpClientConnection } from "../connection/define-connection.ts";
import type { LiveConnection } from "../connection/live-connection.ts";

/** How one step reaches one connection's server. */
export interface ConnectionTransport {
  readonly definition: McpClientConnection;
  readonly context: ConnectionContext;
  readonly inConnectTime: LiveConnection["inConnectTime"];
  /** For Streamable HTTP; `undefined` leaves everything to the client. */
  readonly fetch: typeof globalThis.fetch | undefined;
  /** For the old HTTP+SSE transport. */
  readonly sseFetch?: typeof globalThis.fetch | undefined;
  /** Headers that the client sets itself, if no fetch of ours does. */
  readonly headers?: () => Promise<Record<string, string> | undefined>;
  readonly authProvider: () => Promise<OAuthClientProvider | undefined>;
  /** Whether a failed connect may mean that the server only knows HTTP+SSE. */
  readonly isOldServer?: (error: unknown) => boolean;
  readonly onSseFallback?: () => void;
}

export async function openClient(transport: ConnectionTransport): Promise<MCPClient> {
  const { definition, context, inConnectTime } = transport;
  const { options } = definition;
  const headers = await transport.headers?.();
  const authProvider = await transport.authProvider();

  const connect = async (
    type: "http" | "sse",
    fetch: typeof globalThis.fetch | undefined,
  ): Promise<MCPClient> => {
    const config: MCPClientConfig & { experimental_events?: { adapter?: never } } = {
      transport: {
        type,
        url: new URL(options.url).href,
        ...(headers && { headers }),
        ...(authProvider && { authProvider }),
        ...(fetch && { fetch }),
      },
      ...clientDescription(options),
    };
    // `@ai-sdk/mcp` calls it, and Next's edge runtime does not have it.
    if (!("any" in AbortSignal)) {
      Object.assign(AbortSignal, { any: (signals: AbortSignal[]) => combineSignals(signals) });
    }
    const client = await inConnectTime(context.abortSignal, (signal) =>
      createMCPClient({ ...config, initializationOptions: { signal } }),
    );
    answerElicitations(client, options, context);
    return client;
  };

  try {
    return await connect("http", transport.fetch);
  } catch (error) {
    if (context.abortSignal.aborted || !transport.isOldServer?.(error)) throw error;
    // When the second attempt fails too, the first one's error says more.
    const client = await connect("sse", transport.sseFetch).catch(() => {
      throw error;
    });
    transport.onSseFallback?.();
    return client;
  }
}

/** Whether it is one of the statuses with which an old server answers the POST of `initialize`. */
export function isOldServerStatus(status: unknown): boolean {
  return status === 400 || status === 404 || status === 405;
}
