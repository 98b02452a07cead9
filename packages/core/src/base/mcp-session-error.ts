import { plainText } from "./plain-text.ts";

const marker = Symbol.for("durable-mcp.McpSessionError");

/**
 * The reason why a session operation failed. Each code has a heading in `docs/errors.md`.
 *
 * - `AUTHORIZATION_REQUIRED`: the user has to sign in at the server's authorization server first.
 * - `CONNECTION_INVALID`: a connection, principal or option does not have the documented shape.
 * - `CONNECTION_UNAVAILABLE`: the server of a connection could not be reached or refused the handshake.
 * - `INPUT_INVALID`: the answers do not fit what the server asked; nothing was sent, and the call still waits.
 * - `NOT_WAITING`: no call with this id waits for this principal, or it is being answered, or it is over.
 * - `OUTCOME_UNKNOWN`: the request may have been carried out, and its answer was lost or came too late.
 * - `PRINCIPAL_REQUIRED`: a stateful connection was used without a principal.
 * - `RUN_REQUIRED`: code that needs a run was called outside of one.
 * - `SESSION_LOST`: the server no longer knows the session and a new one could not take its place.
 * - `STATE_CONFLICT`: another call changed the state of a server's session at the same time.
 * - `STATE_INVALID`: a snapshot or state from outside does not parse.
 * - `STORE_FAILED`: a store could not be reached, or one of its operations failed.
 */
export type McpSessionErrorCode =
  | "AUTHORIZATION_REQUIRED"
  | "CONNECTION_INVALID"
  | "CONNECTION_UNAVAILABLE"
  | "INPUT_INVALID"
  | "NOT_WAITING"
  | "OUTCOME_UNKNOWN"
  | "PRINCIPAL_REQUIRED"
  | "RUN_REQUIRED"
  | "SESSION_LOST"
  | "STATE_CONFLICT"
  | "STATE_INVALID"
  | "STORE_FAILED";

/**
 * The reason why a connection failed. `resources`: this process has no descriptors, ports or memory left. `reset`: the
 * connection broke.
 */
export type ConnectionFailureReason =
  | "dns"
  | "refused"
  | "timeout"
  | "tls"
  | "certificate"
  | "resources"
  | "reset"
  | "other";

/**
 * The reason why a connection cannot be used: why it failed, or what the server answered.
 *
 * - `refused`: with a `status` the server refused the request, without one it took no connection.
 * - `authorization-required`: HTTP 401, or a login that only the user can make.
 * - `refresh-under-way`: another process has begun to refresh the token, and gave none in time.
 * - `not-mcp`: the answer is not MCP, such as a page.
 * - `redirect`: the server answered with a redirect, which could carry the session id elsewhere.
 * - `other-era`: the client has sessions and the server none (2026-07-28 and later), or the reverse.
 * - `other-origin`: a request to another origin needs a `fetch` of the application, or a sign-in may not go where the
 *   server sends it.
 */
export type UnavailableReason =
  | ConnectionFailureReason
  | "authorization-required"
  | "refresh-under-way"
  | "not-mcp"
  | "redirect"
  | "other-era"
  | "other-origin";

/** Facts about the failed request. Never an id, a token or a principal. */
export interface McpSessionErrorData {
  /** The JSON-RPC method or the HTTP method of the request. */
  readonly method?: string | undefined;
  /** The origin of the server's URL. */
  readonly origin?: string | undefined;
  /** The HTTP status of the answer, if there was one. */
  readonly status?: number | undefined;
  /** The reason why the connection cannot be used, or broke. */
  readonly reason?: UnavailableReason | undefined;
  /** The wrong field of the input. */
  readonly field?: string | undefined;
  /** The connection's name, if the error passed through a provider. */
  readonly connection?: string | undefined;
  /** The state of the waiting call, if there is one. */
  readonly state?: string | undefined;
  /** The scopes that the user has to grant, as far as they are known. */
  readonly scopes?: readonly string[] | undefined;
  /** The application's own page where the user's sign-in begins. There is nothing secret in it. */
  readonly startUrl?: string | undefined;
}

/** The class of all errors of this project. Match on `code`. */
export class McpSessionError extends Error {
  static {
    // Not an instance field: it would show up in every printed error.
    Object.defineProperty(this.prototype, marker, { value: true });
    Object.defineProperty(this.prototype, "name", { value: "McpSessionError" });
  }

  readonly code: McpSessionErrorCode;
  readonly data: McpSessionErrorData;

  constructor(
    code: McpSessionErrorCode,
    message: string,
    options: { data?: McpSessionErrorData; cause?: unknown } = {},
  ) {
    // It may quote a server.
    super(plainText(message), options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.data = options.data ?? {};
  }

  /** Narrows `value` to an `McpSessionError`, even one from another copy of this package. */
  static isInstance(value: unknown): value is McpSessionError {
    return typeof value === "object" && value !== null && marker in value;
  }
}
