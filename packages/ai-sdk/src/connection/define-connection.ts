import { checkOptions } from "./check-options.ts";
import type { McpClientConnectionOptions } from "./client-connection-options.ts";
import { clientConnectionSchema } from "./client-connection-schema.ts";
import type { ConnectionToolSchemas } from "./connection-options.ts";
import type { StatefulSessionOptions } from "./session-options.ts";

/** A declared MCP server. Made by `defineMcpClientConnection`. */
export interface McpClientConnection<
  SCHEMAS extends ConnectionToolSchemas | undefined = ConnectionToolSchemas | undefined,
> {
  readonly type: "mcp-client";
  readonly options: McpClientConnectionOptions<SCHEMAS>;
}

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
>(options: McpClientConnectionOptions<SCHEMAS>): McpClientConnection<SCHEMAS> {
  checkOptions(clientConnectionSchema, options);
  return Object.freeze({ type: "mcp-client", options: Object.freeze({ ...options }) });
}

/** The URL of the server, in the form of snapshots. */
export function endpointOf({ options }: McpClientConnection): string {
  return new URL(options.url).href;
}

export function isStateful({ options }: McpClientConnection): boolean {
  const { session } = options;
  return session === "stateful" || (typeof session === "object" && session.mode === "stateful");
}

/** The options of a stateful connection's session. */
export function sessionOptions({
  options: { session },
}: McpClientConnection): Omit<StatefulSessionOptions, "mode"> {
  return typeof session === "object" ? session : {};
}

/** For `session.onStart`. */
export function startTimeoutMs({ options }: McpClientConnection): number {
  return options.timeouts?.startMs ?? 60_000;
}

/** For the handshake, and for listing tools. */
export function connectTimeoutMs({ options }: McpClientConnection): number {
  return options.timeouts?.connectMs ?? 10_000;
}

/** The time limit for a session to be ready, including its preparation by `session.onStart`. */
export function readyTimeoutMs(definition: McpClientConnection): number {
  const { onStart } = sessionOptions(definition);
  return connectTimeoutMs(definition) + (onStart ? startTimeoutMs(definition) : 0);
}
