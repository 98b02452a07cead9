import type { ConnectionToolSchemas, McpClientConnection } from "./define-connection.ts";
import type { McpStdioConnection } from "./stdio/define-stdio-connection.ts";

/** A declared MCP server of any kind. */
export type McpConnection<
  SCHEMAS extends ConnectionToolSchemas | undefined = ConnectionToolSchemas | undefined,
> = McpClientConnection<SCHEMAS> | McpStdioConnection<SCHEMAS>;
