import { generateKeyPairSync, randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import type { AuthInfo, OAuthMetadata } from "@modelcontextprotocol/server";
import { type Interaction, Provider } from "oidc-provider";
import { signInPage } from "./sign-in-page.ts";

export const scope = "points";

export interface AuthorizationServer {
  readonly issuer: string;
  readonly metadata: OAuthMetadata;
  /** Whose a token is; `undefined` if it is nobody's any more. */
  readonly find: (token: string) => Promise<AuthInfo | undefined>;
}

interface AuthorizationOptions {
  issuer: URL;
  /** Of the chat, the one client that it knows. */
  redirectUrl: string;
}

/** An authorization server for trying the sign-in, with one page: any name signs in. */
export async function startAuthorizationServer({
  issuer,
  redirectUrl,
}: AuthorizationOptions): Promise<AuthorizationServer> {
  const provider = createProvider(issuer.origin, redirectUrl);
  const serveProtocol = provider.callback();

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (!request.url?.startsWith("/sign-in/")) return await serveProtocol(request, response);
    const interaction = await provider.interactionDetails(request, response);
    if (request.method !== "POST") {
      response.setHeader("content-type", "text/html; charset=utf-8");
      return void response.end(signInPage(scope));
    }
    const name = new URLSearchParams(await text(request)).get("name") ?? "";
    const result = {
      login: { accountId: name },
      consent: { grantId: await grant(provider, interaction, name) },
    };
    await provider.interactionFinished(request, response, result);
  }

  createServer((request, response) => {
    handle(request, response).catch((error: unknown) => {
      console.error(error);
      response.destroy();
    });
  }).listen(Number(issuer.port), issuer.hostname);
  return {
    issuer: issuer.origin,
    metadata: {
      issuer: issuer.origin,
      authorization_endpoint: `${issuer.origin}/auth`,
      token_endpoint: `${issuer.origin}/token`,
      response_types_supported: ["code"],
    },
    async find(token) {
      const found = await provider.AccessToken.find(token);
      if (!found?.clientId || !found.exp) return undefined;
      return {
        ...{ token, clientId: found.clientId, expiresAt: found.exp },
        scopes: found.scope?.split(" ") ?? [],
        resource: new URL(String(found.aud)),
        extra: { user: found.accountId },
      };
    },
  };
}

function createProvider(issuer: string, redirectUrl: string): Provider {
  return new Provider(issuer, {
    clients: [
      {
        client_id: "next-chat",
        client_name: "next-chat",
        redirect_uris: [redirectUrl],
        grant_types: ["authorization_code", "refresh_token"],
        token_endpoint_auth_method: "none",
        application_type: "native",
      },
    ],
    clientDefaults: { id_token_signed_response_alg: "ES256" },
    cookies: { keys: [randomUUID()] },
    jwks: { keys: [signingKey()] },
    scopes: [scope],
    pkce: { required: () => true },
    rotateRefreshToken: true,
    issueRefreshToken: () => true,
    expiresWithSession: () => false,
    findAccount: (_context, accountId) => ({ accountId, claims: () => ({ sub: accountId }) }),
    ttl: {
      ...{ AccessToken: 3600, AuthorizationCode: 60, IdToken: 60, Interaction: 600 },
      ...{ Session: 86_400, Grant: 86_400, RefreshToken: 86_400 },
    },
    interactions: { url: (_context, { uid }) => `/sign-in/${uid}` },
    features: {
      devInteractions: { enabled: false },
      resourceIndicators: {
        enabled: true,
        useGrantedResource: () => true,
        getResourceServerInfo: (_context, resource) => ({
          ...{ audience: resource, scope, accessTokenFormat: "opaque" },
        }),
      },
    },
  });
}

/** Keeps what the user has just allowed. */
async function grant(provider: Provider, { params }: Interaction, name: string): Promise<string> {
  const allowed = new provider.Grant({ accountId: name, clientId: String(params["client_id"]) });
  allowed.addOIDCScope(String(params["scope"] ?? ""));
  allowed.addResourceScope(String(params["resource"]), scope);
  return await allowed.save();
}

function signingKey() {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  return { ...privateKey.export({ format: "jwk" }), alg: "ES256", use: "sig", kid: "signing" };
}
