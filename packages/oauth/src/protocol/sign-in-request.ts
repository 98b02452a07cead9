import { McpSessionError } from "@durable-mcp/core";
import * as oauth from "oauth4webapi";
import type { AuthorizationServer } from "./authorization-server.ts";
import type { Client } from "./client.ts";

/**
 * A new `state`: 256 random bits.
 *
 * @see https://www.rfc-editor.org/rfc/rfc6749#section-10.12
 */
export function newState(): string {
  return oauth.generateRandomState();
}

/**
 * A new `code_verifier`: 256 random bits.
 *
 * @see https://www.rfc-editor.org/rfc/rfc7636#section-4.1
 */
export function newVerifier(): string {
  return oauth.generateRandomCodeVerifier();
}

export interface SignInRequest {
  readonly server: AuthorizationServer;
  readonly client: Client;
  readonly redirectUrl: string;
  readonly scopes: readonly string[];
  /** The MCP server's identifier, from its discovery. */
  readonly resource: string;
  readonly state: string;
  readonly verifier: string;
}

/**
 * The URL at which the user signs in: an authorization request with PKCE (S256) and the resource. With
 * `offline_access` the user is asked for consent, as OpenID Connect wants it.
 *
 * @throws {McpSessionError} `CONNECTION_UNAVAILABLE` if the server does not say that it does S256, or names no
 *   authorization endpoint
 * @see https://www.rfc-editor.org/rfc/rfc6749#section-4.1.1
 * @see https://www.rfc-editor.org/rfc/rfc7636#section-4.3
 * @see https://www.rfc-editor.org/rfc/rfc8707#section-2.1
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization/security-considerations#authorization-code-protection
 */
export async function createSignIn({
  server,
  client,
  redirectUrl,
  scopes,
  resource,
  state,
  verifier,
}: SignInRequest): Promise<URL> {
  if (server.code_challenge_methods_supported?.includes("S256") !== true) {
    throw unusable(server, "does not say that it does PKCE with S256, so a code could be stolen");
  }
  if (server.authorization_endpoint === undefined) {
    throw unusable(server, "names no authorization endpoint");
  }
  const url = new URL(server.authorization_endpoint);
  const parameters = {
    ...(scopes.includes("offline_access") && { prompt: "consent" }),
    ...client.authorizationParameters,
    response_type: "code",
    client_id: client.clientId,
    redirect_uri: redirectUrl,
    state,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: "S256",
    resource,
    ...(scopes.length > 0 && { scope: scopes.join(" ") }),
  };
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  return url;
}

function unusable({ issuer }: AuthorizationServer, why: string): McpSessionError {
  const { origin } = new URL(issuer);
  return new McpSessionError(
    "CONNECTION_UNAVAILABLE",
    `The authorization server ${origin} ${why}. No sign-in was begun; the server's metadata has to be fixed.`,
    { data: { origin, reason: "other" } },
  );
}
