import type { Client } from "@modelcontextprotocol/sdk/client/index.js";

/** What the adapter asks of its client, and no more. */
export type ToolClient = Pick<Client, "listTools" | "callTool" | "readResource">;
