import * as oauth from "oauth4webapi";
import type { User } from "./scripted-user.ts";

/** What the tests of the servers do by hand, message by message. */
const insecure = { [oauth.allowInsecureRequests]: true } as const;

/** Nobody listens there. */
const callbackUrl = "http://127.0.0.1:10239/callback";

export async function discover(issuer: string): Promise<oauth.AuthorizationServer> {
  const url = new URL(issuer);
  const response = await oauth.discoveryRequest(url, { algorithm: "oauth2", ...insecure });
  return oauth.processDiscoveryResponse(url, response);
}

/** Registers a public client by RFC 7591. */
export async function register(server: oauth.AuthorizationServer): Promise<oauth.Client> {
  const response = await oauth.dynamicClientRegistrationRequest(
    server,
    {
      client_name: "By hand",
      redirect_uris: [callbackUrl],
      grant_types: ["authorization_code", "refresh_token"],
      token_endpoint_auth_method: "none",
    },
    insecure,
  );
  return oauth.processDynamicClientRegistrationResponse(response);
}

export interface SignInByHand {
  readonly server: oauth.AuthorizationServer;
  readonly client: oauth.Client;
  readonly resource: string;
  /** @default "notes:read" */
  readonly scope?: string;
}

/** The authorization URL, and what the token request needs of it. */
async function startByHand({
  server,
  client,
  resource,
  scope = "notes:read",
}: SignInByHand): Promise<{ url: URL; verifier: string; state: string }> {
  const verifier = oauth.generateRandomCodeVerifier();
  const state = oauth.generateRandomState();
  const url = new URL(server.authorization_endpoint!);
  url.search = new URLSearchParams({
    client_id: client.client_id,
    response_type: "code",
    redirect_uri: callbackUrl,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: "S256",
    ...{ scope, state, resource },
  }).toString();
  return { url, verifier, state };
}

/** Signs a user in: the tokens for one resource. */
export async function signInByHand(
  use: SignInByHand & { user: User },
): Promise<oauth.TokenEndpointResponse> {
  const { server, client, resource, user } = use;
  const { url, verifier, state } = await startByHand(use);
  const callback = await user.signIn(url, callbackUrl);
  const response = await oauth.authorizationCodeGrantRequest(
    server,
    client,
    oauth.None(),
    oauth.validateAuthResponse(server, client, callback, state),
    callbackUrl,
    verifier,
    { additionalParameters: { resource }, ...insecure },
  );
  return await oauth.processAuthorizationCodeResponse(server, client, response);
}

export async function refreshByHand(
  server: oauth.AuthorizationServer,
  client: oauth.Client,
  refreshToken: string,
  resource: string,
): Promise<oauth.TokenEndpointResponse> {
  const response = await oauth.refreshTokenGrantRequest(
    server,
    client,
    oauth.None(),
    refreshToken,
    { additionalParameters: { resource }, ...insecure },
  );
  return await oauth.processRefreshTokenResponse(server, client, response);
}
