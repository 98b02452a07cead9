import { type McpConnection, readMcpServers, type ToolNamePrefix } from "@durable-mcp/sessions";
import {
  defineMcpStdioConnection as define,
  type McpStdioConnection,
  type McpStdioConnectionOptions as OptionsOfAny,
} from "@durable-mcp/sessions/stdio";
import { sdkClients } from "./client/client-opener.ts";
import {
  defineMcpClientConnection,
  type McpClientConnectionOptions,
  type McpServersOptions,
} from "./client/define-connections.ts";

/** The options of a connection to a program on this machine. */
export interface McpStdioConnectionOptions extends Omit<OptionsOfAny<undefined>, "schemas"> {}

/**
 * Declares an MCP server that is a program on this machine and talks over its stdin and stdout. Each run has a process
 * of its own, from first use until its end, unless a pool keeps it. Nothing of it is saved.
 *
 * @example
 * defineMcpStdioConnection({
 *   command: "npx",
 *   args: ["-y", "@modelcontextprotocol/server-memory"],
 *   description: "A knowledge graph.",
 * })
 *
 * @throws {McpSessionError} `CONNECTION_INVALID`, naming the field and how to fix it
 */
export function defineMcpStdioConnection(
  options: McpStdioConnectionOptions,
): McpStdioConnection<undefined> {
  return define<undefined, ToolNamePrefix>(options, sdkClients);
}

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
  options: McpServersOptions<
    Partial<McpClientConnectionOptions> | Partial<McpStdioConnectionOptions>
  > = {},
): Record<string, McpConnection> {
  return readMcpServers<McpConnection>(configuration, options, {
    http: defineMcpClientConnection,
    stdio: defineMcpStdioConnection,
  });
}
