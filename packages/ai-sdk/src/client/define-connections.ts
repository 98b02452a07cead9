import type { MCPClient, OAuthClientProvider } from "@ai-sdk/mcp";
import {
  type McpServersOptions as ServersOptions,
  readMcpServers,
  type ConnectionStart as StartOfAny,
  type McpClientConnectionOptions as OptionsOfAny,
  type StatefulSessionOptions as SessionOfAny,
  defineMcpClientConnection as define,
  type McpClientConnection,
  type ToolNamePrefix,
} from "@durable-mcp/sessions";
import { aiSdkClients } from "./client-opener.ts";

/** Schemas for typed and validated tools, in the form of `schemas` of `MCPClient.tools()`. */
export type ConnectionToolSchemas = Exclude<
  NonNullable<NonNullable<Parameters<MCPClient["tools"]>[0]>["schemas"]>,
  "automatic"
>;

/** The argument of `session.onStart`. */
export interface ConnectionStart extends StartOfAny<MCPClient> {}

/** How a stateful connection keeps its session. */
export interface StatefulSessionOptions extends SessionOfAny<MCPClient> {}

/** The options of a connection over Streamable HTTP. */
export interface McpClientConnectionOptions<
  SCHEMAS extends ConnectionToolSchemas | undefined = ConnectionToolSchemas | undefined,
  PREFIX extends ToolNamePrefix = ToolNamePrefix,
> extends OptionsOfAny<SCHEMAS, PREFIX, MCPClient, OAuthClientProvider> {}

/**
 * Declares an MCP server that agents connect to over Streamable HTTP.
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
export function defineMcpClientConnection<
  const SCHEMAS extends ConnectionToolSchemas | undefined = undefined,
  const PREFIX extends ToolNamePrefix = undefined,
>(options: McpClientConnectionOptions<SCHEMAS, PREFIX>): McpClientConnection<SCHEMAS, PREFIX> {
  return define(options, aiSdkClients);
}

/** How a configuration of MCP servers is read. */
export interface McpServersOptions<
  OVERRIDES = Partial<McpClientConnectionOptions>,
> extends ServersOptions<OVERRIDES> {}

/**
 * Declares the servers of an `mcpServers` configuration, as Claude, Cursor, VS Code and others have it.
 * Entries with a `command` need `fromMcpServers` of `@durable-mcp/ai-sdk/stdio`.
 *
 * @param configuration `{ mcpServers: { name: { url, headers } } }`, or `{ servers: … }`. An entry with
 *   `disabled: true` is left out
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
