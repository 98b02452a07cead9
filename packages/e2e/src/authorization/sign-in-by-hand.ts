import * as oauth from "oauth4webapi";
import { signInByHand } from "../../../oauth/test/scripted-user.ts";

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

/** Signs a user in: the tokens for one resource. */
export async function signInForTokens(
  server: oauth.AuthorizationServer,
  client: oauth.Client,
  resource: string,
): Promise<oauth.TokenEndpointResponse> {
  const verifier = oauth.generateRandomCodeVerifier();
  const state = oauth.generateRandomState();
  const url = new URL(server.authorization_endpoint!);
  url.search = new URLSearchParams({
    client_id: client.client_id,
    response_type: "code",
    redirect_uri: callbackUrl,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: "S256",
    ...{ scope: "notes:read", state, resource },
  }).toString();
  const callback = await signInByHand(url, callbackUrl);
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
