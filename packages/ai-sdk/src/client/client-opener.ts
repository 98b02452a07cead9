import {
  auth,
  createMCPClient,
  ElicitationRequestSchema,
  type MCPClient,
  type MCPClientConfig,
  type OAuthClientProvider,
} from "@ai-sdk/mcp";
import { combineSignals } from "@durable-mcp/core/internal";
import type { ClientOpener } from "@durable-mcp/sessions";

/** Without its experimental events. */
type Config = MCPClientConfig & { experimental_events?: { adapter?: never } };

/** Clients of `@ai-sdk/mcp`. */
export const aiSdkClients: ClientOpener<MCPClient> = {
  async createClient({ signal, onElicitation, ...config }) {
    // It calls it, and Next's edge runtime does not have it.
    if (!("any" in AbortSignal)) {
      Object.assign(AbortSignal, { any: (signals: AbortSignal[]) => combineSignals(signals) });
    }
    const initializationOptions = { signal };
    const client = await createMCPClient({ ...config, initializationOptions } as Config);
    if (onElicitation) client.onElicitationRequest(ElicitationRequestSchema, onElicitation);
    return client;
  },
  renewLogin: async (provider, of) =>
    (await auth(provider as OAuthClientProvider, of)) === "AUTHORIZED",
};
