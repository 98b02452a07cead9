import { type McpServersOptions, readMcpServers } from "../configuration/from-mcp-servers.ts";
import type { McpClientConnectionOptions } from "../connection/connection-options.ts";
import { defineMcpClientConnection } from "../connection/define-connection.ts";
import type { McpConnection } from "../connection/mcp-connection.ts";
import type { McpStdioConnectionOptions } from "../connection/stdio-connection-options.ts";
import { defineMcpStdioConnection } from "./define-stdio-connection.ts";

type Overrides = Partial<McpClientConnectionOptions> | Partial<McpStdioConnectionOptions>;

/**
 * Declares the servers of an `mcpServers` configuration: those behind a `url`, and programs that a
 * `command` starts.
 *
 * @example
 * fromMcpServers(JSON.parse(await readFile("mcp.json", "utf8")), { variables: process.env })
 *
 * @throws {McpSessionError} `CONNECTION_INVALID`, naming the entry and the field
 */
export function fromMcpServers(
  configuration: unknown,
  options: McpServersOptions<Overrides> = {},
): Record<string, McpConnection> {
  return readMcpServers<McpConnection>(configuration, options, {
    http: defineMcpClientConnection,
    stdio: defineMcpStdioConnection,
  });
}
