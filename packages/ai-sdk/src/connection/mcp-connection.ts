import type { ConnectionToolSchemas } from "./connection-options.ts";
import type { McpClientConnection } from "./define-connection.ts";
import type { McpStdioConnection } from "./stdio-connection-options.ts";

/** A declared MCP server of any kind. */
export type McpConnection<
  SCHEMAS extends ConnectionToolSchemas | undefined = ConnectionToolSchemas | undefined,
> = McpClientConnection<SCHEMAS> | McpStdioConnection<SCHEMAS>;

/** The connections with a server behind a URL, the only ones whose sessions can be kept. */
export function clientConnections(
  declared: Readonly<Record<string, McpConnection>>,
): Record<string, McpClientConnection> {
  const entries = Object.entries(declared).flatMap(([name, connection]) =>
    connection.type === "mcp-client" ? [[name, connection] as const] : [],
  );
  return Object.fromEntries(entries);
}
