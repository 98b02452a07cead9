import type { Principal } from "@durable-mcp/core";
import type { BearerChallenge, TokenProof } from "@durable-mcp/core/internal";
import type { Awaitable, ConnectionContext } from "./connection-context.ts";

/** An access token. */
export interface ConnectionToken {
  readonly token: string;
  /** In milliseconds since 1970-01-01 UTC, or as a `Date`. @default unknown */
  readonly expiresAt?: number | Date | undefined;
  /** Makes the proofs for a token that is bound to a key (RFC 9449). @default a bearer token */
  readonly dpop?: TokenProof | undefined;
}

/** What a server refused, and why. */
export interface RefusedToken {
  /** The token that was sent, if there was one. */
  readonly token?: string | undefined;
  /** 401, or 403 with the error `insufficient_scope`. */
  readonly status: 401 | 403;
  /** What the server asks for in `WWW-Authenticate: Bearer`. */
  readonly challenge?: BearerChallenge | undefined;
}

/** The request for which a connection needs a token. */
export interface TokenContext extends ConnectionContext {
  /** The connection's URL: the resource that the token is for. */
  readonly url: string;
  /** The id of the agent session, if there is one. */
  readonly sessionId?: string | undefined;
  /** The caller sends proofs: the token may be bound to a key. */
  readonly takesDpop?: true | undefined;
  /** Set after a refusal: the same request is sent once more, with the new token. */
  readonly refused?: RefusedToken | undefined;
}

/** A connection whose sign-in is asked about, outside of a request. */
export interface AuthorizationUse {
  readonly principal: Principal;
  readonly connection: string;
  /** The connection's URL. */
  readonly url: string;
  /** The agent session in which the sign-in is shown, if there is one. */
  readonly sessionId?: string | undefined;
}

/** The sign-in that a connection waits for. */
interface RequiredAuthorization {
  /** The scopes that the user has to grant, as far as they are known. */
  readonly scopes: readonly string[];
  /** The application's own page where the sign-in begins. */
  readonly startUrl: string;
  /** In milliseconds since 1970-01-01 UTC. */
  readonly askedAt: number;
}

/** Where a connection's tokens come from, such as `createOAuth` of `@durable-mcp/oauth`. */
export interface GetToken {
  /**
   * @returns `undefined` if no token is to be sent
   * @throws {McpSessionError} `AUTHORIZATION_REQUIRED` if the user has to sign in; the caller gets it unchanged
   */
  getToken(context: TokenContext): Awaitable<ConnectionToken | undefined>;
  /** The sign-in that the connection waits for, for `sessions.waiting`. Sends nothing. */
  authorizationFor?(use: AuthorizationUse): Awaitable<RequiredAuthorization | undefined>;
  /** Forgets all tokens of a principal, for `sessions.endAll`. */
  deleteAll?(use: { readonly principal: Principal }): Promise<unknown>;
}

/** What a connection sends in `Authorization`: as a bearer token, unless `dpop` says that it is bound to a key. */
export type ConnectionAuth =
  | GetToken
  | ((context: TokenContext) => Awaitable<ConnectionToken | string | GetToken>);

/** Headers by name: values, promises of them, or functions. A promise that rejects fails each request. */
export type ConnectionHeaders = Readonly<
  Record<string, Awaitable<string> | ((context: ConnectionContext) => Awaitable<string>)>
>;
