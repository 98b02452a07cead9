import { createMCPClient } from "@ai-sdk/mcp";
import type { ConnectMcpTestClient } from "./mcp-test-client.ts";
import { clientFromToolSet } from "./client-from-tool-set.ts";

/** `@ai-sdk/mcp` 2, used as an agent does: `tools()`, then `execute`. */
export const connectAiSdk2: ConnectMcpTestClient = async ({ url, fetch }) =>
  clientFromToolSet(await createMCPClient({ transport: { type: "http", url, fetch } }));
