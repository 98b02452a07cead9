import { generateKeyPairSync, randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { type ClientMetadata, Provider } from "oidc-provider";
import { createTokenStore } from "../../../e2e/src/authorization/token-store.ts";
import { serveConsentPages } from "./consent-pages.ts";

/** What has happened at an authorization server. */
interface AuthorizationCounts {
  /** Of metadata, registration, sign-in and tokens; not those of its pages, nor of the MCP server. */
  requests: number;
  registered: number;
  signedIn: number;
  refreshed: number;
  /** Grants that ended because a refresh token came a second time. */
  revoked: number;
}

export interface AuthorizationServer {
  readonly issuer: string;
  readonly counts: AuthorizationCounts;
  /** The life of access tokens from now on. @default 3600 */
  accessTokenSeconds: number;
  /** When the latest access token expires, in milliseconds since the epoch. */
  expiresAt: number;
  /** The MCP server, which asks whose a token is (RFC 7662). */
  readonly resourceServer: { readonly id: string; readonly secret: string };
  close: () => void;
}

const counted = /^\/(auth|reg|token|\.well-known\/.*)$/;

/**
 * An authorization server as those of MCP servers are: it registers clients by itself, wants PKCE, and gives a new
 * refresh token for each. One that comes a second time may be stolen, so it ends the grant.
 */
export async function startAuthorizationServer({
  latencyMs,
}: {
  /** How long each request is on its way. */
  latencyMs: number;
}): Promise<AuthorizationServer> {
  const counts = { requests: 0, registered: 0, signedIn: 0, refreshed: 0, revoked: 0 };
  const resourceServer = { id: "shop", secret: randomUUID() };
  const server = createServer((request, response) => {
    handle(request, response).catch((error: unknown) => {
      console.error(error);
      response.destroy();
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");

  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const provider = createProvider(issuer, resourceServer, () => result.accessTokenSeconds);
  const serveProtocol = provider.callback();
  const serveConsent = serveConsentPages(provider);
  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [path = ""] = (request.url ?? "").split("?");
    if (path.startsWith("/consent/")) return await serveConsent(request, response);
    if (counted.test(path)) {
      counts.requests += 1;
      await sleep(latencyMs);
    }
    await serveProtocol(request, response);
  }

  provider.on("registration_create.success", () => (counts.registered += 1));
  provider.on("grant.success", ({ oidc: { params } }) => {
    counts[params?.["grant_type"] === "refresh_token" ? "refreshed" : "signedIn"] += 1;
  });
  // Opaque tokens are “saved”; those that are JWTs are “issued”.
  provider.on("access_token.saved", ({ expiration }) => {
    result.expiresAt = Date.now() + expiration * 1000;
  });
  provider.on("grant.revoked", () => (counts.revoked += 1));
  const result: AuthorizationServer = {
    ...{ issuer, counts, resourceServer, accessTokenSeconds: 3600, expiresAt: 0 },
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
  return result;
}

function createProvider(
  issuer: string,
  { id, secret }: AuthorizationServer["resourceServer"],
  accessTokenSeconds: () => number,
): Provider {
  const shop = {
    ...{ client_id: id, client_secret: secret },
    token_endpoint_auth_method: "client_secret_post",
    ...{ redirect_uris: [], response_types: [], grant_types: [] },
  };
  return new Provider(issuer, {
    adapter: createTokenStore({ isForgiving: false }).adapter,
    clients: [shop as ClientMetadata],
    clientDefaults: { id_token_signed_response_alg: "ES256" },
    cookies: { keys: [randomUUID()] },
    jwks: { keys: [signingKey()] },
    scopes: ["orders"],
    pkce: { required: () => true },
    rotateRefreshToken: true,
    issueRefreshToken: (_context, client) => client.grantTypeAllowed("refresh_token"),
    expiresWithSession: () => false,
    findAccount: (_context, accountId) => ({ accountId, claims: () => ({ sub: accountId }) }),
    ttl: {
      AccessToken: accessTokenSeconds,
      ...{ AuthorizationCode: 60, IdToken: 60, Interaction: 600 },
      ...{ Session: 86_400, Grant: 86_400, RefreshToken: 86_400 },
    },
    // What is expired is refused at once.
    clockTolerance: 0,
    interactions: { url: (_context, { uid }) => `/consent/${uid}` },
    features: {
      devInteractions: { enabled: false },
      registration: { enabled: true },
      introspection: {
        enabled: true,
        allowedPolicy: (_context, client) => client.clientId === id,
      },
      resourceIndicators: {
        enabled: true,
        useGrantedResource: () => true,
        getResourceServerInfo: (_context, resource) => ({
          audience: resource,
          scope: "orders",
          accessTokenFormat: "opaque",
        }),
      },
    },
  });
}

function signingKey() {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  return { ...privateKey.export({ format: "jwk" }), alg: "ES256", use: "sig", kid: "signing" };
}
