import { createRemoteJWKSet, jwtVerify } from "jose";
import { resourceServerClient } from "./protocol.ts";

/** What an access token says. */
export interface VerifiedToken {
  /** The user; of a token without one, the client. */
  readonly subject: string;
  readonly clientId: string;
  readonly scopes: string[];
  /** In seconds since the epoch. */
  readonly expiresAt: number;
  readonly resource?: URL;
}

export interface IssuerMetadata {
  readonly [field: string]: unknown;
  readonly issuer: string;
  readonly authorization_endpoint: string;
  readonly token_endpoint: string;
  readonly response_types_supported: string[];
  readonly introspection_endpoint?: string;
  readonly jwks_uri?: string;
}

export type TokenVerifier = (token: string) => Promise<VerifiedToken | undefined>;

export async function readIssuerMetadata(issuer: string): Promise<IssuerMetadata> {
  const response = await fetch(new URL("/.well-known/oauth-authorization-server", issuer));
  return (await response.json()) as IssuerMetadata;
}

/** Asks the authorization server about each token (RFC 7662), so that a revoked one is refused at once. */
export function createIntrospection({ issuer, introspection_endpoint }: IssuerMetadata) {
  // The SDK's demo server does not say where.
  const endpoint = introspection_endpoint ?? new URL("/introspect", issuer);
  const verify: TokenVerifier = async (token) => {
    const { id, secret } = resourceServerClient;
    const body = new URLSearchParams({ token, client_id: id, client_secret: secret });
    const response = await fetch(endpoint, { method: "POST", body });
    const said = (await response.json()) as { active?: boolean } & TokenClaims;
    return said.active === true ? fromClaims(said) : undefined;
  };
  return verify;
}

/** Checks the signature of JWT access tokens; the authorization server is not asked. */
export function createSignatureCheck({ issuer, jwks_uri = "" }: IssuerMetadata): TokenVerifier {
  const keys = createRemoteJWKSet(new URL(jwks_uri));
  return async (token) => {
    const verified = await jwtVerify(token, keys, { issuer, typ: "at+jwt" }).catch(() => undefined);
    return verified && fromClaims(verified.payload);
  };
}

interface TokenClaims {
  sub?: string | undefined;
  client_id?: string;
  scope?: string;
  exp?: number | undefined;
  aud?: string | string[] | undefined;
}

function fromClaims(claims: TokenClaims): VerifiedToken {
  const { sub, client_id: clientId = "", scope = "", exp = 0 } = claims;
  const [audience] = [claims.aud].flat();
  return {
    subject: sub ?? clientId,
    clientId,
    scopes: scope.split(" ").filter(Boolean),
    expiresAt: exp,
    ...(audience !== undefined && { resource: new URL(audience) }),
  };
}
