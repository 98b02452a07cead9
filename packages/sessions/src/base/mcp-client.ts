/** Clients of MCP as far as they are used here, and what makes them: a framework's own, or any other. */

import type { JsonRpcMessage } from "@durable-mcp/core/internal";

/** An object with any members. */
interface Members {
  readonly [member: string]: unknown;
}

/** The result of a tool call, as its server gives it. */
export interface CallToolResult extends Members {
  readonly content?: readonly (Members & { readonly type: string })[];
  /** Whether the tool failed. */
  readonly isError?: boolean | undefined;
}

/** A tool, as its server lists it. */
export interface ServerTool extends Members {
  readonly name: string;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  /** JSON Schema. */
  readonly inputSchema?: unknown;
  readonly annotations?: unknown;
  readonly execution?: unknown;
}

/** Limits one request. */
interface RequestOptions {
  readonly options?: { signal?: AbortSignal };
}

/** A client after its handshake. */
export interface McpClient {
  readonly initializeResult: {
    readonly protocolVersion: string;
    readonly capabilities: Members;
    readonly serverInfo: { readonly name: string; readonly version: string };
  };
  readonly instructions?: string;
  /** A page of the tools. */
  listTools(
    request?: RequestOptions & { readonly params?: { cursor?: string; _meta?: Members } },
  ): Promise<{
    readonly tools: ServerTool[];
    readonly nextCursor?: string | undefined;
    readonly _meta?: Members | undefined;
  }>;
  /** Calls a tool once. */
  callTool(
    call: RequestOptions & { readonly name: string; readonly arguments?: Record<string, unknown> },
  ): Promise<CallToolResult>;
  /** Reads a resource. */
  readResource(request: RequestOptions & { readonly uri: string }): Promise<object>;
  /** Closes the client. A session of its own ends, too. */
  close(): Promise<void>;
}

/** @see https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation */
export interface ElicitationRequest {
  method: "elicitation/create";
  params: {
    [member: string]: unknown;
    message: string;
    requestedSchema: unknown;
    _meta?: { [member: string]: unknown } | undefined;
  };
}

export interface ElicitResult {
  [member: string]: unknown;
  action: "accept" | "decline" | "cancel";
  content?: Record<string, unknown> | undefined;
}

/** Capabilities of a client, by name. */
export interface ClientCapabilities {
  [name: string]: unknown;
  elicitation?: { [member: string]: unknown; applyDefaults?: boolean | undefined } | undefined;
}

/** A login that a client carries out, and renews. */
export interface LoginProvider {
  /** The tokens of the user, if there are any. */
  tokens(): LoginTokens | undefined | Promise<LoginTokens | undefined>;
}

interface LoginTokens {
  readonly access_token: string;
  readonly refresh_token?: string | undefined;
}

/** What carries a client's messages where there is no HTTP. */
export interface ClientTransport {
  readonly supportsProtocolVersionDiscovery: true;
  readonly waitsForProtocolVersionDiscovery: true;
  start(): Promise<void>;
  send(message: JsonRpcMessage, options?: { readonly signal?: AbortSignal }): Promise<void>;
  close(): Promise<void>;
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: any) => void;
}

/** Where a client connects, and as whom. */
export interface ClientConfig {
  readonly transport:
    | ClientTransport
    | {
        /** `"sse"` is the old HTTP+SSE transport. */
        readonly type: "http" | "sse";
        readonly url: string;
        readonly headers?: Record<string, string> | undefined;
        readonly authProvider?: LoginProvider | undefined;
        /** @default the client's own */
        readonly fetch?: typeof globalThis.fetch | undefined;
      };
  readonly clientName: string;
  readonly version: string;
  readonly capabilities: ClientCapabilities;
  /**
   * Whether `server/discover` is the first request, before `initialize`. `true`, which only a stdio server gets that
   * refuses `initialize`, asks for revision 2026-07-28: a client that does not speak it must throw, and say so.
   * @default the client's own
   */
  readonly protocolVersionDiscovery?: boolean | undefined;
  /** Ends the handshake. */
  readonly signal: AbortSignal;
  /**
   * Answers the server's elicitation requests. If it is there, `createClient` must register it with the client:
   * `capabilities` have promised the server that somebody answers.
   */
  readonly onElicitation?: ((request: ElicitationRequest) => Promise<ElicitResult>) | undefined;
}

/** Makes the clients of a connection. Each definition has one, from the package whose function made it. */
export interface ClientOpener<CLIENT extends McpClient = McpClient> {
  /**
   * Connects a client, up to the end of its handshake. Questions of revision 2026-07-28 wait only with a client that
   * speaks it.
   */
  createClient(config: ClientConfig): Promise<CLIENT>;
  /** Renews a login before a request that is none of a client's. @returns whether the request can be sent again */
  renewLogin(
    provider: LoginProvider,
    of: { readonly serverUrl: string; readonly fetchFn: typeof globalThis.fetch },
  ): Promise<boolean>;
  /**
   * Makes the error that its clients throw. With it requests on a session go out without a client of it, which is made
   * when the application asks for one, or where its client has to log in or to listen.
   *
   * @param error.code of the server's JSON-RPC error
   */
  readonly createError?: ((error: ClientErrorParts) => Promise<Error>) | undefined;
  /** Makes of a result what its clients' tools make of it. @default the result */
  readonly toOutput?:
    | ((result: CallToolResult, tool: string, outputSchema: unknown) => Promise<unknown>)
    | undefined;
}

/** What an error of a client says. */
export interface ClientErrorParts {
  readonly message: string;
  readonly code?: number | undefined;
  readonly data?: unknown;
  readonly cause?: unknown;
}
