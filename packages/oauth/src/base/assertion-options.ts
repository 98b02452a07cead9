import type { Principal } from "@durable-mcp/core";
import type { OAuthClient } from "./oauth-client.ts";

type Awaitable<T> = T | Promise<T>;

/**
 * The company's own login, in place of a sign-in at each MCP server.
 *
 * @see https://github.com/modelcontextprotocol/ext-auth/blob/main/specification/stable/enterprise-managed-authorization.mdx
 */
export interface EnterpriseOptions {
  /** The identity provider's issuer, exactly as its metadata says it. */
  readonly issuer: string;
  /** This application's registration at the provider. */
  readonly client: Omit<
    OAuthClient,
    "issuer" | "authorizationParameters" | "clientCredentials" | "scopes"
  >;
  /**
   * The user's ID token of the company's login, asked for before each exchange; `undefined` while the user is not
   * logged in. It is sent to the provider alone, and never stored.
   */
  readonly idToken: (use: {
    readonly principal: Principal;
    readonly abortSignal: AbortSignal;
  }) => Awaitable<string | undefined>;
  /** The application's own page where a user logs in at the company. @default `/` at the origin of `redirectUrl` */
  readonly loginUrl?: string | URL | undefined;
  /** Whether users may sign in only in this way. Otherwise they sign in at servers that do not offer it. @default false */
  readonly isRequired?: boolean | undefined;
}

/**
 * The identity that a platform gives to the job in which the application runs, for the principal `{ type: "app" }`.
 *
 * @see https://www.rfc-editor.org/rfc/rfc7523#section-2.1
 */
export interface WorkloadOptions {
  /**
   * The platform's signed token for this job, asked for before each request for tokens, and never stored.
   *
   * @param use.audience the issuer of the MCP server's authorization server
   */
  readonly assertion: (use: {
    readonly audience: string;
    readonly abortSignal: AbortSignal;
  }) => Awaitable<string>;
}
