import {
  defineMcpClientConnection,
  type McpClientConnection,
} from "../connection/define-connection.ts";
import { type McpServersOptions, readMcpServers } from "./read-mcp-servers.ts";

/**
 * Declares the servers of an `mcpServers` configuration, as Claude, Cursor, VS Code and others have it.
 * Entries with a `command` need `fromMcpServers` of `@durable-mcp/ai-sdk/stdio`.
 *
 * @param configuration `{ mcpServers: { name: { url, headers } } }`, `{ servers: … }`, or the entries alone
 *
 * @example
 * fromMcpServers(JSON.parse(await readFile("mcp.json", "utf8")), {
 *   variables: { GITHUB_TOKEN: process.env.GITHUB_TOKEN },
 *   overrides: { github: { session: "stateful" } },
 * })
 *
 * @throws {McpSessionError} `CONNECTION_INVALID`, naming the entry and the field
 */
export function fromMcpServers(
  configuration: unknown,
  options: McpServersOptions = {},
): Record<string, McpClientConnection> {
  return readMcpServers(configuration, options, { http: defineMcpClientConnection });
}
