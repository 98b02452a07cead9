import type { MCPClient, MCPClientConfig, OAuthClientProvider } from "@ai-sdk/mcp";
import { combineSignals } from "@durable-mcp/core/internal";
import type { ClientOpener } from "@durable-mcp/sessions";
import { typedOutput } from "../tool-set/typed-output.ts";

/** Without its experimental events. */
type Config = MCPClientConfig & { experimental_events?: { adapter?: never } };

/** A step on a session that is kept loads nothing of it, unless an error needs its class. */
const load = async () => await import("@ai-sdk/mcp");

/** Clients of `@ai-sdk/mcp`. */
export const aiSdkClients: ClientOpener<MCPClient> = {
  async createClient({ signal, onElicitation, ...config }) {
    const { createMCPClient, ElicitationRequestSchema } = await load();
    // It calls it, and Next's edge runtime does not have it.
    if (!("any" in AbortSignal)) {
      Object.assign(AbortSignal, { any: (signals: AbortSignal[]) => combineSignals(signals) });
    }
    const initializationOptions = { signal };
    const client = await createMCPClient({ ...config, initializationOptions } as Config);
    if (onElicitation) client.onElicitationRequest(ElicitationRequestSchema, onElicitation);
    return client;
  },
  async renewLogin(provider, of) {
    const { auth } = await load();
    return (await auth(provider as OAuthClientProvider, of)) === "AUTHORIZED";
  },
  async createError(parts) {
    const { MCPClientError } = await load();
    return new MCPClientError(parts as never);
  },
  toOutput: typedOutput,
};
