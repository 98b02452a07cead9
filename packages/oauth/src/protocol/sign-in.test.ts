import { generateKeyPairSync } from "node:crypto";
import { expect, test } from "vitest";
import { type ProtectedServer, startProtectedServer } from "../../test/protected-server.ts";
import { signInByHand } from "../../test/scripted-user.ts";
import { resourceScopes, startAuthorizationServer } from "../../test/start-authorization-server.ts";
import { checkCallback } from "./check-callback.ts";
import { chooseAuthMethod, type Client } from "./client.ts";
import { type Discovered, discover } from "./discover.ts";
import { registerClient } from "./register-client.ts";
import { revokeToken } from "./revoke-token.ts";
import { scopesToAsk } from "./scopes.ts";
import { createSignIn, newState, newVerifier } from "./sign-in-request.ts";
import {
  exchangeCode,
  refreshTokens,
  requestClientCredentials,
  type TokenOutcome,
} from "./token-request.ts";

const redirectUrl = "http://127.0.0.1:9/oauth/callback";

test("a user signs in at a server that nobody knew, and each request names the resource", async () => {
  const { issuer, requests } = await startAuthorizationServer();
  const locked = await startProtectedServer([issuer], resourceScopes);
  const found = await find(locked);
  expect(found.server).toMatchObject({
    issuer,
    authorization_response_iss_parameter_supported: true,
    code_challenge_methods_supported: ["S256"],
  });
  expect(found.resource).toBe(locked.url.href);
  const client = await register(locked, found);
  expect(client).toEqual({ clientId: expect.any(String), authMethod: "none" });

  const before = Date.now();
  const tokens = tokensOf(await signIn(locked, found, client));
  expect(tokens.scopes).toEqual(expect.arrayContaining(["notes:read", "notes:write"]));
  expect(tokens.refreshToken).toBeTypeOf("string");
  expect(tokens.expiresAt).toBeGreaterThanOrEqual(before + 3_600_000);
  expect(tokens.expiresAt).toBeLessThanOrEqual(Date.now() + 3_600_000);

  const refreshed = tokensOf(await refresh(locked, found, client, tokens.refreshToken));
  expect(refreshed.accessToken).not.toBe(tokens.accessToken);
  expect(refreshed.refreshToken).not.toBe(tokens.refreshToken);

  const [asked] = requests().filter((url) => url.startsWith("/auth?"));
  const query = new URLSearchParams(asked!.slice("/auth?".length));
  expect(Object.fromEntries(query)).toMatchObject({
    resource: locked.url.href,
    code_challenge_method: "S256",
    scope: "notes:read notes:write offline_access",
    prompt: "consent",
  });
  const ofTokens = locked.sent.filter(({ url }) => url.endsWith("/token"));
  expect(ofTokens.map(({ body }) => [body.get("grant_type"), body.get("resource")])).toEqual([
    ["authorization_code", locked.url.href],
    ["refresh_token", locked.url.href],
  ]);
});

test("a refresh token that was used before is refused in the server's own word", async () => {
  const { locked, found, client, tokens } = await signedIn();
  tokensOf(await refresh(locked, found, client, tokens.refreshToken));
  const again = await refresh(locked, found, client, tokens.refreshToken);
  expect(again).toEqual({
    type: "refused",
    error: "invalid_grant",
    description: expect.any(String),
  });
});

test("a revoked refresh token ends the grant", async () => {
  const { locked, found, client, tokens } = await signedIn();
  const { fetch } = locked.guard;
  const revocation = { server: found.server, client, fetch };
  const { refreshToken } = tokens;
  const revoked = await revokeToken({ ...revocation, token: refreshToken!, hint: "refresh_token" });
  expect(revoked).toEqual({ type: "revoked" });
  expect(locked.sent.at(-1)?.body.get("token_type_hint")).toBe("refresh_token");
  expect(await refresh(locked, found, client, refreshToken)).toMatchObject({
    type: "refused",
    error: "invalid_grant",
  });
});

test("a code is good for one exchange", async () => {
  const { issuer } = await startAuthorizationServer();
  const locked = await startProtectedServer([issuer], resourceScopes);
  const found = await find(locked);
  const client = await register(locked, found);
  const { parameters, verifier } = await codeOf(found, client);
  const request = {
    ...found,
    client,
    fetch: locked.guard.fetch,
    parameters,
    redirectUrl,
    verifier,
  };
  expect(await exchangeCode(request)).toMatchObject({ type: "tokens" });
  expect(await exchangeCode(request)).toMatchObject({ type: "refused", error: "invalid_grant" });
});

test("a user who cancels is an answer in the server's own words", async () => {
  const { issuer } = await startAuthorizationServer();
  const locked = await startProtectedServer([issuer], resourceScopes);
  const found = await find(locked);
  const client = await register(locked, found);
  const state = newState();
  const url = await createSignIn({ ...signInOf(found, client), state });
  const callback = await signInByHand(url, redirectUrl, "cancel");
  expect(checkCallback({ server: found.server, client, url: callback, state })).toEqual({
    type: "denied",
    error: "access_denied",
    description: "End-User aborted interaction",
  });
});

test("a client that is a metadata document needs no registration", async () => {
  const clientId = "https://app.example/oauth/client.json";
  const { issuer } = await startAuthorizationServer({
    documents: {
      [clientId]: {
        client_id: clientId,
        client_name: "An agent",
        redirect_uris: [redirectUrl],
        application_type: "native",
        grant_types: ["authorization_code", "refresh_token"],
        response_types: ["code"],
        token_endpoint_auth_method: "none",
      },
    },
  });
  const locked = await startProtectedServer([issuer], resourceScopes);
  const found = await find(locked);
  expect(found.server.client_id_metadata_document_supported).toBe(true);
  const client: Client = { clientId, authMethod: "none" };
  const tokens = tokensOf(await signIn(locked, found, client));
  expect(await refresh(locked, found, client, tokens.refreshToken)).toMatchObject({
    type: "tokens",
  });
});

const signing = generateKeyPairSync("ec", { namedCurve: "P-256" });
const publicKey = { ...signing.publicKey.export({ format: "jwk" }), kid: "one", use: "sig" };
const privateKey = { ...signing.privateKey.export({ format: "jwk" }), kid: "one" };

test.each([
  ["client_secret_basic", { secret: "a-b_c.d~e+f g:h%i" }],
  ["client_secret_post", { secret: "a-b_c.d~e+f g:h%i" }],
  ["private_key_jwt", { privateKey }],
] as const)("the application itself gets tokens with %s", async (authMethod, credentials) => {
  const clientId = "the-app_of.ours";
  const isSigned = authMethod === "private_key_jwt";
  const { issuer } = await startAuthorizationServer({
    clients: [
      {
        client_id: clientId,
        ...("secret" in credentials && { client_secret: credentials.secret }),
        ...(isSigned && { jwks: { keys: [publicKey] } }),
        token_endpoint_auth_method: authMethod,
        grant_types: ["client_credentials"],
        redirect_uris: [],
        response_types: [],
      },
    ],
  });
  const locked = await startProtectedServer([issuer]);
  const found = await find(locked);
  expect(chooseAuthMethod(found.server, { ...credentials, wanted: authMethod })).toBe(authMethod);
  const client: Client = { clientId, ...credentials, authMethod };
  const outcome = await requestClientCredentials({
    ...found,
    client,
    fetch: locked.guard.fetch,
    scopes: ["notes:read"],
  });
  expect(tokensOf(outcome)).toMatchObject({ scopes: ["notes:read"], refreshToken: undefined });
});

async function signedIn() {
  const { issuer } = await startAuthorizationServer();
  const locked = await startProtectedServer([issuer], resourceScopes);
  const found = await find(locked);
  const client = await register(locked, found);
  return { locked, found, client, tokens: tokensOf(await signIn(locked, found, client)) };
}

function find({ url, guard }: ProtectedServer): Promise<Discovered> {
  return discover({ url, guard, mayUse: () => true });
}

function register({ guard }: ProtectedServer, { server }: Discovered): Promise<Client> {
  return registerClient({ server, redirectUrl, clientName: "An agent", fetch: guard.fetch });
}

function signInOf({ server, resource, scopesSupported }: Discovered, client: Client) {
  const scopes = scopesToAsk({ resourceScopes: scopesSupported, server });
  return { server, client, redirectUrl, scopes, resource, verifier: newVerifier() };
}

async function codeOf(found: Discovered, client: Client) {
  const request = { ...signInOf(found, client), state: newState() };
  const url = await signInByHand(await createSignIn(request), redirectUrl);
  const callback = checkCallback({ server: found.server, client, url, state: request.state });
  if (callback.type !== "code") throw new Error(`The callback is ${callback.type}.`);
  return { parameters: callback.parameters, verifier: request.verifier };
}

async function signIn({ guard }: ProtectedServer, found: Discovered, client: Client) {
  const code = await codeOf(found, client);
  return await exchangeCode({ ...found, ...code, client, redirectUrl, fetch: guard.fetch });
}

async function refresh(
  { guard }: ProtectedServer,
  found: Discovered,
  client: Client,
  refreshToken: string | undefined,
) {
  return await refreshTokens({
    ...found,
    client,
    fetch: guard.fetch,
    refreshToken: refreshToken ?? "none",
  });
}

function tokensOf(outcome: TokenOutcome) {
  if (outcome.type === "tokens") return outcome.tokens;
  throw new Error(outcome.type === "failed" ? outcome.error.message : outcome.description);
}
