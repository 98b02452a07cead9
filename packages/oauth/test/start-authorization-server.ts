import { generateKeyPairSync, randomBytes, randomUUID } from "node:crypto";
import { type ClientMetadata, Provider } from "oidc-provider";
import type { Gateway } from "./gateway.ts";
import { startLoopbackServer } from "./loopback-server.ts";

export interface AuthorizationServerOptions {
  /** Registered by hand. */
  readonly clients?: readonly ClientMetadata[];
  /** Client ID metadata documents by their https URL. */
  readonly documents?: Readonly<Record<string, unknown>>;
  readonly accessTokenSeconds?: number | (() => number);
  /** Whether tokens are bound to keys, and each proof needs a nonce (RFC 9449). @default false */
  readonly withDpop?: boolean;
  /** Stands before it, at the issuer's address. */
  readonly gateway?: Gateway;
}

export interface TestAuthorizationServer {
  readonly issuer: string;
  /** The path and the query of all requests, in order. */
  readonly requests: () => string[];
  /** The thumbprint of the key to which an access token is bound. */
  readonly keyOf: (token: string) => Promise<string | undefined>;
}

/** The scopes of every resource. */
export const resourceScopes = ["notes:read", "notes:write"];

/**
 * A real `oidc-provider` in this process: PKCE required, rotation with detection of reuse, registration, metadata
 * documents, resource indicators, revocation. Whoever signs in is a user.
 */
export async function startAuthorizationServer({
  clients = [],
  documents = {},
  accessTokenSeconds = 3_600,
  withDpop = false,
  gateway,
}: AuthorizationServerOptions = {}): Promise<TestAuthorizationServer> {
  let answer: ReturnType<Provider["callback"]> | undefined;
  const server = await startLoopbackServer((request, response) => void answer?.(request, response));
  gateway?.openTo(server.origin);
  const issuer = gateway?.origin ?? server.origin;
  const provider = quietly(
    () =>
      new Provider(issuer, {
        clients: [...clients],
        clientDefaults: { id_token_signed_response_alg: "ES256" },
        cookies: { keys: [randomUUID()] },
        jwks: { keys: [signingKey()] },
        scopes: ["openid", "offline_access"],
        pkce: { required: () => true },
        rotateRefreshToken: true,
        ttl: {
          AccessToken: accessTokenSeconds,
          ClientCredentials: accessTokenSeconds,
          Grant: 3_600,
          Interaction: 3_600,
          RefreshToken: 3_600,
          Session: 3_600,
        },
        findAccount: (_context, accountId) => ({ accountId, claims: () => ({ sub: accountId }) }),
        fetch: (url) => {
          const document = documents[new Request(url).url];
          return document === undefined
            ? Promise.reject(new Error("Nothing is served at this URL."))
            : Promise.resolve(Response.json(document));
        },
        features: {
          devInteractions: { enabled: true },
          clientCredentials: { enabled: true },
          registration: { enabled: true },
          dPoP: {
            enabled: withDpop,
            nonceSecret: randomBytes(32),
            requireNonce: () => withDpop,
          },
          revocation: {
            enabled: true,
            allowedPolicy: (_context, client, token) => client.clientId === token.clientId,
          },
          clientIdMetadataDocument: { enabled: true, ack: "draft-02" },
          resourceIndicators: {
            enabled: true,
            useGrantedResource: () => false,
            getResourceServerInfo: (_context, resource) => ({
              scope: resourceScopes.join(" "),
              audience: resource,
              accessTokenFormat: "opaque",
            }),
          },
        },
      }),
  );
  provider.on("server_error", (_context, error) => console.error(error));
  answer = provider.callback();
  return {
    issuer,
    requests: () => server.requests.map(({ url }) => url ?? ""),
    keyOf: async (token) => (await provider.AccessToken.find(token))?.["jkt"],
  };
}

function signingKey() {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  return { ...privateKey.export({ format: "jwk" }), alg: "ES256", use: "sig", kid: "signing" };
}

/** Without the warnings of what is meant for development alone. */
function quietly<T>(work: () => T): T {
  const { warn } = console;
  console.warn = () => undefined;
  try {
    return work();
  } finally {
    console.warn = warn;
  }
}
