import type { OAuthClientProvider } from "@ai-sdk/mcp";
import type {
  Awaitable,
  ConnectionContext,
  ConnectionOptions,
  ConnectionTimeouts,
  ConnectionToolSchemas,
} from "./connection-options.ts";
import type { StatefulSessionOptions } from "./session-options.ts";

/** A bearer token and its expiry, in milliseconds since 1970-01-01 UTC or as a `Date`. */
export interface ConnectionToken {
  readonly token: string;
  readonly expiresAt?: number | Date | undefined;
}

type HeaderValue = string | ((context: ConnectionContext) => Awaitable<string>);

/** The options of a connection over Streamable HTTP. */
export interface McpClientConnectionOptions<
  SCHEMAS extends ConnectionToolSchemas | undefined = ConnectionToolSchemas | undefined,
> extends ConnectionOptions<SCHEMAS> {
  /** The server's Streamable HTTP endpoint. */
  readonly url: string | URL;
  /**
   * Whether one MCP session lasts over all steps of an agent session.
   * @default "stateless"
   */
  readonly session?: "stateless" | "stateful" | StatefulSessionOptions | undefined;
  /**
   * A bearer token. It is asked for once a step, and again after a 401. Not together with `authProvider`.
   */
  readonly auth?:
    | { readonly getToken: (context: ConnectionContext) => Awaitable<ConnectionToken> }
    | undefined;
  /**
   * OAuth, which `@ai-sdk/mcp` carries out. A function, when each principal has tokens of its own,
   * is called once a step.
   */
  readonly authProvider?:
    | OAuthClientProvider
    | ((context: ConnectionContext) => Awaitable<OAuthClientProvider>)
    | undefined;
  /** Headers for every request to the server. Functions are called once a step. */
  readonly headers?: Readonly<Record<string, HeaderValue>> | undefined;
  readonly timeouts?: ClientConnectionTimeouts | undefined;
  /** Whether a stateful connection follows redirects within the server's origin. @default "refuse" */
  readonly redirect?: "refuse" | "same-origin" | undefined;
  /**
   * Sends the requests. With a fetch of your own you also vouch for the hosts that OAuth requests go
   * to: use one that checks them. @default globalThis.fetch, with other origins refused
   */
  readonly fetch?: typeof globalThis.fetch | undefined;
}

interface ClientConnectionTimeouts extends ConnectionTimeouts {
  /**
   * For the handshake and for listing tools, in milliseconds. A server that does not answer delays
   * `tools()`, for all connections, by that time. @default 10000
   */
  readonly connectMs?: number | undefined;
  /**
   * The longest silence of a stateful connection's server while a call waits, in milliseconds. After
   * that the call fails with `OUTCOME_UNKNOWN`. @default 300000 (5 minutes)
   */
  readonly answerMs?: number | undefined;
}
