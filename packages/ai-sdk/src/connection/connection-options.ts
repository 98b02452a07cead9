import type {
  ElicitationRequest,
  ElicitResult,
  MCPClient,
  MCPClientCapabilities,
} from "@ai-sdk/mcp";
import type { Principal } from "@durable-mcp/core";

/** The use for which a function of a definition is called. */
export interface ConnectionContext {
  /** The identity that the connection acts for. */
  readonly principal: Principal | undefined;
  /** The connection's name. */
  readonly connection: string;
  /** Aborts when the step's registry is disposed of. */
  readonly abortSignal: AbortSignal;
}

/** Schemas for typed and validated tools, in the form of `schemas` of `MCPClient.tools()`. */
export type ConnectionToolSchemas = Exclude<
  NonNullable<NonNullable<Parameters<MCPClient["tools"]>[0]>["schemas"]>,
  "automatic"
>;

/** A value, or a promise of it. */
export type Awaitable<T> = T | Promise<T>;

/** The options of every connection, whatever its transport. */
export interface ConnectionOptions<SCHEMAS extends ConnectionToolSchemas | undefined> {
  /** Says for people, and in prompts, what to use the connection for. */
  readonly description: string;
  /** Which of the server's tools are offered, by the server's names. @default all */
  readonly tools?:
    | { readonly allow: readonly string[] }
    | { readonly block: readonly string[] }
    | undefined;
  /**
   * Typed and validated tools; only these are offered then. Without it, the server's JSON Schema is used.
   */
  readonly schemas?: SCHEMAS;
  /**
   * Client capabilities to declare. Over HTTP, sampling, elicitation and roots need an open stream, and
   * get it.
   */
  readonly capabilities?: MCPClientCapabilities | undefined;
  /** Answers the server's elicitation requests; declares the capability. */
  readonly onElicitation?:
    | ((request: ElicitationRequest, context: ConnectionContext) => Awaitable<ElicitResult>)
    | undefined;
}

/** The time limits of every connection. */
export interface ConnectionTimeouts {
  /** For each tool call, in milliseconds; it fails with `OUTCOME_UNKNOWN`. @default none */
  readonly callMs?: number | undefined;
  /** For `session.onStart`, in milliseconds. @default 60000 */
  readonly startMs?: number | undefined;
}
