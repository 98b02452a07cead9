import { generateKeyPairSync, randomUUID } from "node:crypto";
import { type ClientMetadata, Provider, type ResourceServer } from "oidc-provider";
import { type AuthorizationServerOptions, resourceServerClient } from "./protocol.ts";
import type { TokenStore } from "./token-store.ts";

export interface ProviderWorld {
  readonly store: TokenStore;
  /** Of the tokens from now on. */
  accessTokenSeconds: () => number;
  /** Client id metadata documents by their https URL. */
  readonly clientDocuments: ReadonlyMap<string, unknown>;
}

const allScopes = "notes:read notes:write notes:delete";

/**
 * An `oidc-provider` as MCP servers have: tokens for any resource, PKCE required, every refresh token good for one
 * use. One that is used again revokes the grant. Any login and password sign in, as the user with that login.
 */
export function createProvider(
  issuer: string,
  options: AuthorizationServerOptions,
  { store, accessTokenSeconds, clientDocuments }: ProviderWorld,
): Provider {
  const format = options.accessTokens ?? "opaque";
  const resourceServer: ResourceServer = {
    scope: options.scopes ?? allScopes,
    accessTokenFormat: format,
    ...(format === "jwt" && { jwt: { sign: { alg: "ES256" } } }),
  };
  return new Provider(issuer, {
    adapter: store.adapter,
    clients: [...(options.clients ?? []), resourceServerMetadata] as ClientMetadata[],
    clientDefaults: { id_token_signed_response_alg: "ES256" },
    cookies: { keys: [randomUUID()] },
    jwks: { keys: [signingKey()] },
    pkce: { required: () => true },
    rotateRefreshToken: options.refreshTokenUse !== "ever",
    issueRefreshToken: async (_context, client) =>
      options.refreshTokens !== "never" && client.grantTypeAllowed("refresh_token"),
    expiresWithSession: async () => false,
    findAccount: (_context, accountId) => ({ accountId, claims: () => ({ sub: accountId }) }),
    ttl: { AccessToken: accessTokenSeconds, ClientCredentials: accessTokenSeconds },
    // What is expired here is refused at once.
    clockTolerance: 0,
    fetch: (url) => {
      const document = clientDocuments.get(new Request(url).url);
      return document === undefined
        ? Promise.reject(new Error("Nothing is served at this URL."))
        : Promise.resolve(Response.json(document));
    },
    features: {
      devInteractions: { enabled: true },
      clientCredentials: { enabled: true },
      registration: { enabled: options.registration ?? true },
      revocation: { enabled: true },
      introspection: {
        enabled: true,
        allowedPolicy: (_context, client) => client.clientId === resourceServerClient.id,
      },
      clientIdMetadataDocument: {
        enabled: options.clientDocuments ?? true,
        ack: "draft-02",
        cacheDuration: { min: 1, max: 1 },
      },
      resourceIndicators: {
        enabled: true,
        // Without `resource` in a token request, that of the grant.
        useGrantedResource: () => true,
        getResourceServerInfo: (_context, resource) => ({ ...resourceServer, audience: resource }),
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
