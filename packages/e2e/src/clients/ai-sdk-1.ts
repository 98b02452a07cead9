import { createMCPClient } from "ai-sdk-mcp-1";
import type { ConnectMcpTestClient } from "./mcp-test-client.ts";
import { clientFromToolSet } from "./client-from-tool-set.ts";

/** `@ai-sdk/mcp` 1, used as an agent does: `tools()`, then `execute`. */
export const connectAiSdk1: ConnectMcpTestClient = async ({ url, fetch }) =>
  clientFromToolSet(await createMCPClient({ transport: { type: "http", url, fetch } as never }));
