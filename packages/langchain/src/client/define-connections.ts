import {
  defineMcpClientConnection as define,
  type McpClientConnection,
  type McpClientConnectionOptions as OptionsOfAny,
  type McpServersOptions as ServersOptions,
  readMcpServers,
  type ToolNamePrefix,
} from "@durable-mcp/sessions";
import type { McpClient } from "@durable-mcp/sessions";
import type { OAuthClientProvider } from "@modelcontextprotocol/sdk/client/auth.js";
import { sdkClients } from "./client-opener.ts";

/** The options of a connection over Streamable HTTP. */
export interface McpClientConnectionOptions extends Omit<
  OptionsOfAny<undefined, ToolNamePrefix, McpClient, OAuthClientProvider>,
  "schemas"
> {}

/**
 * Declares an MCP server that agents connect to over Streamable HTTP, with clients of `@modelcontextprotocol/sdk`. These
 * speak the revisions before 2026-07-28. A server that speaks no other is declared with `@durable-mcp/ai-sdk`.
 *
 * @example
 * defineMcpClientConnection({
 *   url: "http://localhost:8931/mcp",
 *   description: "A browser that stays open between steps.",
 *   session: "stateful",
 * })
 *
 * @throws {McpSessionError} `CONNECTION_INVALID`, naming the field and how to fix it
 */
export function defineMcpClientConnection(
  options: McpClientConnectionOptions,
): McpClientConnection<undefined> {
  return define<undefined, ToolNamePrefix>(options, sdkClients);
}

/** How a configuration of MCP servers is read. */
export interface McpServersOptions<
  OVERRIDES = Partial<McpClientConnectionOptions>,
> extends ServersOptions<OVERRIDES> {}

/**
 * Declares the servers of an `mcpServers` configuration, as Claude, Cursor, VS Code and others have it.
 * Entries with a `command` need `fromMcpServers` of `@durable-mcp/langchain/stdio`.
 *
 * @example
 * fromMcpServers(JSON.parse(await readFile("mcp.json", "utf8")), { variables: process.env })
 *
 * @throws {McpSessionError} `CONNECTION_INVALID`, naming the entry and the field
 */
export function fromMcpServers(
  configuration: unknown,
  options: McpServersOptions = {},
): Record<string, McpClientConnection<undefined>> {
  return readMcpServers(configuration, options, { http: defineMcpClientConnection });
}
