import type { MCPClient } from "@ai-sdk/mcp";
import { readMcpServers, type McpConnection, type ToolNamePrefix } from "@durable-mcp/sessions";
import {
  type McpStdioConnection,
  type McpStdioConnectionOptions as OptionsOfAny,
  type StdioSessionOptions as SessionOfAny,
  defineMcpStdioConnection as define,
} from "@durable-mcp/sessions/stdio";
import { aiSdkClients } from "./client-opener.ts";
import {
  type ConnectionToolSchemas,
  defineMcpClientConnection,
  type McpClientConnectionOptions,
  type McpServersOptions,
} from "./define-connections.ts";

/** How a server's process is prepared, replaced, and reported as lost. */
export interface StdioSessionOptions extends SessionOfAny<MCPClient> {}

/** The options of a connection to a program on this machine. */
export interface McpStdioConnectionOptions<
  SCHEMAS extends ConnectionToolSchemas | undefined = ConnectionToolSchemas | undefined,
  PREFIX extends ToolNamePrefix = ToolNamePrefix,
> extends OptionsOfAny<SCHEMAS, PREFIX, MCPClient> {}

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
export function defineMcpStdioConnection<
  const SCHEMAS extends ConnectionToolSchemas | undefined = undefined,
  const PREFIX extends ToolNamePrefix = undefined,
>(options: McpStdioConnectionOptions<SCHEMAS, PREFIX>): McpStdioConnection<SCHEMAS, PREFIX> {
  return define(options, aiSdkClients);
}

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
