import { generateKeyPairSync, randomBytes, randomUUID } from "node:crypto";
import { type ClientMetadata, Provider } from "oidc-provider";
import { bindsTokens } from "./bound-tokens.ts";
import { type AuthorizationServerOptions, resourceServerClient } from "./protocol.ts";
import type { TokenStore } from "./token-store.ts";

/**
 * An `oidc-provider` as MCP servers have: tokens for any resource, PKCE required, every refresh token good for one
 * use. One that is used again revokes the grant. Any login and password sign in, as the user with that login.
 */
export function createProvider(
  issuer: string,
  { accessTokenSeconds = 300, refreshTokenUse }: AuthorizationServerOptions,
  store: TokenStore,
): Provider {
  return new Provider(issuer, {
    adapter: store.adapter,
    clients: [resourceServerMetadata as ClientMetadata],
    clientDefaults: { id_token_signed_response_alg: "ES256" },
    cookies: { keys: [randomUUID()] },
    jwks: { keys: [signingKey()] },
    pkce: { required: () => true },
    rotateRefreshToken: refreshTokenUse !== "ever",
    issueRefreshToken: async (_context, client) => client.grantTypeAllowed("refresh_token"),
    expiresWithSession: async () => false,
    findAccount: (_context, accountId) => ({ accountId, claims: () => ({ sub: accountId }) }),
    ttl: { AccessToken: accessTokenSeconds },
    // What is expired here is refused at once.
    clockTolerance: 0,
    features: {
      devInteractions: { enabled: true },
      registration: { enabled: true },
      dPoP: { enabled: bindsTokens(), nonceSecret: randomBytes(32), requireNonce: () => true },
      revocation: { enabled: true },
      introspection: {
        enabled: true,
        allowedPolicy: (_context, client) => client.clientId === resourceServerClient.id,
      },
      resourceIndicators: {
        enabled: true,
        // Without `resource` in a token request, that of the grant.
        useGrantedResource: () => true,
        getResourceServerInfo: (_context, resource) => ({
          ...{ audience: resource, scope: "notes:read notes:write notes:delete" },
          accessTokenFormat: "opaque",
        }),
      },
    },
  });
}

const resourceServerMetadata = {
  client_id: resourceServerClient.id,
  client_secret: resourceServerClient.secret,
  token_endpoint_auth_method: "client_secret_post",
  redirect_uris: [],
  response_types: [],
  grant_types: [],
};

function signingKey() {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  return { ...privateKey.export({ format: "jwk" }), alg: "ES256", use: "sig", kid: "signing" };
}
