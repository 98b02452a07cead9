/*
 * The parts of MCP that a handler reads, in types of their own: a server may come from
 * `@modelcontextprotocol/sdk` 1 or from `@modelcontextprotocol/server` 2, and neither has to be there
 * for the other.
 */

export type RequestId = string | number;

type Params = Record<string, unknown>;

export interface JSONRPCRequest {
  jsonrpc: "2.0";
  id: RequestId;
  method: string;
  params?: Params;
}

interface JSONRPCNotification {
  jsonrpc: "2.0";
  method: string;
  params?: Params;
}

interface JSONRPCResultResponse {
  jsonrpc: "2.0";
  id: RequestId;
  result: Params;
}

interface JSONRPCErrorResponse {
  jsonrpc: "2.0";
  id?: RequestId;
  error: { code: number; message: string; data?: unknown };
}

/** The message that answers a request. */
export type Answer = JSONRPCResultResponse | JSONRPCErrorResponse;

export type JSONRPCMessage = JSONRPCRequest | JSONRPCNotification | Answer;

/** The capabilities that a client declared when it initialized. */
export type ClientCapabilities = Record<string, unknown>;

/** A client's name and version, as it calls itself: unverified. */
export interface Implementation {
  readonly name: string;
  readonly version: string;
  readonly [more: string]: unknown;
}

/** What a server's handlers get as `authInfo`. */
export interface AuthInfo {
  token: string;
  clientId: string;
  scopes: string[];
  /** Seconds since 1970-01-01 UTC. */
  expiresAt?: number;
  resource?: URL;
  extra?: Record<string, unknown>;
}

/** What a server gets with each message of its client. */
export interface MessageExtra {
  readonly authInfo?: AuthInfo | undefined;
  /** For servers of `@modelcontextprotocol/sdk` 1. */
  readonly requestInfo?:
    | { readonly headers: Record<string, string>; readonly url?: URL | undefined }
    | undefined;
  /** For servers of `@modelcontextprotocol/server` 2. */
  readonly request?: Request | undefined;
  /** Ends the answer stream of a request; its client comes back for the answer. */
  readonly closeSSEStream?: (() => void) | undefined;
  /** Ends the listening stream; its client opens it again. */
  readonly closeStandaloneSSEStream?: (() => void) | undefined;
}

/** The `Transport` of both SDKs, as far as a server uses it. */
export interface ServerTransport {
  start(): Promise<void>;
  send(
    message: JSONRPCMessage,
    options?: { relatedRequestId?: RequestId | undefined },
  ): Promise<void>;
  close(): Promise<void>;
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  // Servers type the message more narrowly, each SDK in its own way.
  onmessage?: ((message: any, extra?: any) => void) | undefined;
  sessionId?: string | undefined;
}

/** The protocol revisions with sessions that the HTTP transport knows. */
export const sessionProtocolVersions: readonly string[] = [
  "2025-11-25",
  "2025-06-18",
  "2025-03-26",
  "2024-11-05",
  "2024-10-07",
];

/** What the transport assumes of a client that names no revision. */
export const defaultProtocolVersion = "2025-03-26";

/** The first revision without sessions. */
export const firstStatelessVersion = "2026-07-28";
