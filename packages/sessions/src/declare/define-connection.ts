import { isRecord } from "@durable-mcp/core/internal";
import type { WaitingLimits } from "@durable-mcp/core/waiting";
import { isPromise } from "../base/check-options.ts";
import type { ClientOpener } from "../base/mcp-client.ts";
import type {
  ConnectionResend,
  ConnectionTimeouts,
  WaitingOption,
  McpClientConnectionOptions,
  StatefulSessionOptions,
} from "./connection-options.ts";
import { checkClientDefinition } from "./connection-schemas.ts";
import type { ConnectionToolSchemas, JudgedTool, ToolNamePrefix } from "./tool-options.ts";

/** A declared MCP server. Made by `defineMcpClientConnection`, with clients of any package. */
export interface McpClientConnection<
  SCHEMAS extends ConnectionToolSchemas | undefined = ConnectionToolSchemas | undefined,
  PREFIX extends ToolNamePrefix = ToolNamePrefix,
> {
  readonly type: "mcp-client";
  readonly options: McpClientConnectionOptions<SCHEMAS, PREFIX, any, any>;
  /** Makes its clients. @internal */
  readonly [clientOpener]: ClientOpener;
}

/** The key under which a definition has what makes its clients. It is the same symbol in each copy of this package. */
export const clientOpener: unique symbol = Symbol.for(
  "durable-mcp.clientOpener",
) as unknown as typeof clientOpener;

/** A declared MCP server without what makes its clients. */
export type DeclaredClient = Pick<McpClientConnection, "type" | "options">;

/** What is declared of a server. */
export type DeclaredServer = Pick<McpClientConnection, "options">;

/**
 * Declares an MCP server that agents connect to over Streamable HTTP.
 *
 * @param opener makes its clients
 * @throws {McpSessionError} `CONNECTION_INVALID`, naming the field and how to fix it
 */
export function defineMcpClientConnection<
  const SCHEMAS extends ConnectionToolSchemas | undefined = undefined,
  const PREFIX extends ToolNamePrefix = undefined,
>(
  options: McpClientConnectionOptions<SCHEMAS, PREFIX, any, any>,
  opener: ClientOpener,
): McpClientConnection<SCHEMAS, PREFIX> {
  return Object.freeze({ type: "mcp-client", ...declareServer(options), [clientOpener]: opener });
}

/** The same connection with other options. @throws as `defineMcpClientConnection` */
export const redefine = (
  definition: McpClientConnection,
  options: McpClientConnection["options"],
): McpClientConnection => defineMcpClientConnection(options, definition[clientOpener]);

/** Declares a server without clients. @throws as `defineMcpClientConnection` */
export function declareServer<OPTIONS extends McpClientConnectionOptions<any, any, any, any>>(
  options: OPTIONS,
): { readonly options: OPTIONS } {
  checkClientDefinition(options);
  for (const value of Object.values(options.headers ?? {})) {
    // Its first use tells of a rejection, and may be much later.
    if (isPromise(value)) value.then(undefined, () => undefined);
  }
  return { options: Object.freeze({ ...options }) };
}

/** The URL of the server, in the form of snapshots. */
export function endpointOf({ options }: DeclaredServer): string {
  return new URL(options.url).href;
}

export function isStateful({ options }: DeclaredServer): boolean {
  const { session } = options;
  return session === "stateful" || (typeof session === "object" && session.mode === "stateful");
}

/** The options of a stateful connection's session. */
export function sessionOptions({
  options: { session },
}: DeclaredServer): Omit<StatefulSessionOptions, "mode"> {
  return typeof session === "object" ? session : {};
}

/** For `session.onStart`. */
export function startTimeoutMs({ options }: McpClientConnection): number {
  return options.timeouts?.startMs ?? 60_000;
}

/** For the handshake, and for listing tools. */
export function connectTimeoutMs({ options }: DeclaredServer): number {
  return options.timeouts?.connectMs ?? 10_000;
}

/** For each tool call, over HTTP and stdio; `undefined` where the limit was lifted. */
export function callTimeoutMs({
  options: { timeouts },
}: {
  readonly options: { readonly timeouts?: ConnectionTimeouts | undefined };
}): number | undefined {
  const { callMs = 300_000 } = timeouts ?? {};
  return callMs === false ? undefined : callMs;
}

/** The longest time for which a call may wait for a word of its server. */
export function silenceMs({ options }: DeclaredServer): number {
  return Math.max(callTimeoutMs({ options }) ?? Infinity, options.timeouts?.answerMs ?? 0);
}

/** The time limit for a session to be ready, including its preparation by `session.onStart`. */
export function readyTimeoutMs(definition: McpClientConnection): number {
  const { onStart } = sessionOptions(definition);
  return connectTimeoutMs(definition) + (onStart ? startTimeoutMs(definition) : 0);
}

/** How calls wait beyond the step, if the connection's calls do; `undefined` for any other connection. */
export function waitingLimits({ waiting }: WaitingOption): WaitingLimits | undefined {
  return waiting === true ? {} : waiting;
}

/** Whether the application allows that calls of this tool run twice. */
export function mayRunTwice(
  { name, annotations }: JudgedTool,
  resend: ConnectionResend = "safe",
): boolean {
  if (typeof resend === "string") return resend === "always";
  if (typeof resend !== "function") return resend.includes(name);
  return resend({ name, annotations: isRecord(annotations) ? annotations : undefined });
}
