import type { Client } from "@modelcontextprotocol/sdk/client/index.js";

/** The part of a client that the adapter uses. */
export type ToolClient = Pick<Client, "listTools" | "callTool" | "readResource">;
