import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import * as oauth from "oauth4webapi";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { findChromium } from "../servers/playwright.ts";
import { type AuthorizationServer, startAuthorizationServer } from "./authorization-server.ts";
import { startBrowserUser } from "./browser-user.ts";
import { resourceServerClient } from "./protocol.ts";
import { createScriptedUser } from "./scripted-user.ts";
import {
  callbackUrl,
  discover,
  insecure,
  refreshByHand,
  register,
  signInByHand,
  startByHand,
} from "./sign-in-by-hand.ts";

const resource = "http://127.0.0.1:10239/mcp";
let authorization: AuthorizationServer;
let server: oauth.AuthorizationServer;
let client: oauth.Client;
beforeAll(async () => {
  authorization = await startAuthorizationServer({ accessTokenSeconds: 60 });
  server = await discover(authorization.issuer);
  client = await register(server);
});
beforeEach(() => authorization.clearJournal());
afterAll(() => authorization.stop());

const aboutClient = {
  client_name: "From a document",
  redirect_uris: [callbackUrl],
  grant_types: ["authorization_code", "refresh_token"],
  token_endpoint_auth_method: "none",
};
const signIn = (user = createScriptedUser()) => signInByHand({ server, client, user, resource });
const refresh = (token: string | undefined) => refreshByHand(server, client, token!, resource);
const refused = (error: string) => expect.objectContaining({ error });

test("says what it can do in its metadata", () => {
  expect(server).toMatchObject({
    issuer: authorization.issuer,
    code_challenge_methods_supported: ["S256"],
    authorization_response_iss_parameter_supported: true,
    client_id_metadata_document_supported: true,
  });
  expect(server.registration_endpoint).toContain(authorization.issuer);
  expect(server.revocation_endpoint).toContain(authorization.issuer);
});

test("signs in a user who is a script, and records each request", async () => {
  const tokens = await signIn();
  expect(tokens).toMatchObject({ token_type: "bearer", expires_in: 60, scope: "notes:read" });
  const [authorize] = await authorization.requests("authorize");
  const [exchange] = await authorization.requests("token", "authorization_code");
  expect(authorize).toMatchObject({ resources: [resource], scope: "notes:read" });
  expect(exchange).toMatchObject({ resources: [resource], status: 200 });
  expect(exchange!.issuedRefreshToken).toMatch(/^[0-9a-f]{16}$/);
  expect(await authorization.reuse()).toEqual({
    ...{ refreshToken: 0, code: 1, verifier: 1, grantsRevoked: 0 },
  });
  const said = JSON.stringify(await authorization.journal());
  for (const secret of [tokens.access_token, tokens.refresh_token!])
    expect(said).not.toContain(secret);
});

test.skipIf(!findChromium())("signs in a user with a browser", async () => {
  const user = await startBrowserUser(findChromium()!, { login: "grace" });
  const application = createServer(({ url }, response) => {
    response.end(url?.startsWith("/callback?code=") ? "You are signed in." : "Something else.");
  });
  try {
    expect((await signIn(user)).access_token).toEqual(expect.any(String));

    await once(application.listen(0, "127.0.0.1"), "listening");
    const { port } = application.address() as AddressInfo;
    const redirectUrl = `http://127.0.0.1:${port}/callback`;
    const id = "https://app.example/browser.json";
    await authorization.serveClientDocument(id, { ...aboutClient, redirect_uris: [redirectUrl] });
    const { url } = await startByHand({ server, client: { client_id: id }, resource });
    url.searchParams.set("redirect_uri", redirectUrl);
    const page = await user.visit(url);
    expect(page.text).toBe("You are signed in.");
    expect(page.url.origin + page.url.pathname).toBe(redirectUrl);
  } finally {
    await user.close();
    application.close();
  }
});

test("sends a user who is signed in back at once, to two tabs", async () => {
  const user = createScriptedUser();
  await signIn(user);
  const both = await Promise.all([signIn(user), signIn(user)]);
  expect(new Set(both.map(({ access_token: token }) => token)).size).toBe(2);
});

test("sends a user who cancels to the callback with an error", async () => {
  const user = createScriptedUser({ cancels: true });
  await expect(signIn(user)).rejects.toEqual(refused("access_denied"));
});

test("refuses a sign-in without PKCE", async () => {
  const { url } = await startByHand({ server, client, resource });
  for (const name of ["code_challenge", "code_challenge_method"]) url.searchParams.delete(name);
  const callback = await createScriptedUser().signIn(url, callbackUrl);
  expect(callback.searchParams.get("error")).toBe("invalid_request");
  expect(callback.searchParams.get("error_description")).toContain("PKCE");
});

test("rotates refresh tokens, and revokes the grant when one is used again", async () => {
  const first = await signIn();
  const second = await refresh(first.refresh_token);
  expect(second.refresh_token).not.toBe(first.refresh_token);
  await expect(refresh(first.refresh_token)).rejects.toEqual(refused("invalid_grant"));
  await expect(refresh(second.refresh_token)).rejects.toEqual(refused("invalid_grant"));
  const { refreshToken, grantsRevoked } = await authorization.reuse();
  expect({ refreshToken, grantsRevoked }).toEqual({ refreshToken: 2, grantsRevoked: 1 });
  const refreshes = await authorization.requests("token", "refresh_token");
  expect(refreshes.map(({ status, error }) => [status, error])).toEqual([
    [200, undefined],
    [400, "invalid_grant"],
    [400, "invalid_grant"],
  ]);
});

test("sees the second use of a refresh token also when both come at once", async () => {
  for (let round = 0; round < 5; round += 1) {
    const { refresh_token: token } = await signIn();
    const all = await Promise.allSettled([refresh(token), refresh(token), refresh(token)]);
    expect(all.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    expect((await authorization.reuse()).grantsRevoked).toBe(round + 1);
  }
});

test("revokes on request, which is no second use", async () => {
  const { refresh_token: token } = await signIn();
  const response = await oauth.revocationRequest(server, client, oauth.None(), token!, insecure);
  await oauth.processRevocationResponse(response);
  await expect(refresh(token)).rejects.toEqual(refused("invalid_grant"));
  expect((await authorization.reuse()).grantsRevoked).toBe(0);
  expect(await authorization.journal()).toContainEqual({ kind: "grant-revoked", by: "revocation" });
});

test("takes an https id of a client as its metadata document", async () => {
  const id = "https://app.example/oauth/client.json";
  await authorization.serveClientDocument(id, aboutClient);
  const user = createScriptedUser();
  const tokens = await signInByHand({ server, client: { client_id: id }, user, resource });
  expect(tokens.refresh_token).toEqual(expect.any(String));
  expect(await authorization.requests("registration")).toEqual([]);
});

test("has token requests go wrong as planned", async () => {
  const { refresh_token: first } = await signIn();
  const grantType = "refresh_token";
  await authorization.failTokenRequests({ fault: "unavailable", grantType });
  await authorization.failTokenRequests({ fault: "cut-before", grantType });
  await authorization.failTokenRequests({ fault: "wait-after", waitMs: 300, grantType });
  await expect(refresh(first)).rejects.toMatchObject({ cause: { status: 503 } });
  await expect(refresh(first)).rejects.toThrow("fetch failed");
  const startedAt = Date.now();
  const { refresh_token: second } = await refresh(first);
  expect(Date.now() - startedAt).toBeGreaterThanOrEqual(299);

  await authorization.failTokenRequests({ fault: "cut-after", grantType });
  await expect(refresh(second)).rejects.toThrow("fetch failed");
  await expect(refresh(second)).rejects.toEqual(refused("invalid_grant"));
  const refreshes = await authorization.requests("token", "refresh_token");
  expect(refreshes.map(({ fault }) => fault)).toEqual([
    ...["unavailable", "cut-before", "wait-after", "cut-after"],
    undefined,
  ]);
});

test("grants a further scope to a user who consents again", async () => {
  const user = createScriptedUser();
  const granted = async (scope: string) =>
    (await signInByHand({ server, client, user, resource, scope })).scope?.split(" ").toSorted();
  expect(await granted("notes:read")).toEqual(["notes:read"]);
  expect(await granted("notes:read notes:delete")).toEqual(["notes:delete", "notes:read"]);
});

test("knows clients that were registered by hand, and their credentials", async () => {
  const { privateKey, publicKey } = await oauth.generateKeyPair("ES256", { extractable: true });
  const jwk = { ...(await crypto.subtle.exportKey("jwk", publicKey)), kid: "own", alg: "ES256" };
  const own = { redirect_uris: [], response_types: [], grant_types: ["client_credentials"] };
  const secret = "a secret that is long-enough_for.a test";
  const confidential = await startAuthorizationServer({
    clients: [
      { client_id: "with a secret", client_secret: secret, ...own },
      {
        client_id: "with a key",
        token_endpoint_auth_method: "private_key_jwt",
        token_endpoint_auth_signing_alg: "ES256",
        jwks: { keys: [jwk] },
        ...own,
      },
    ],
  });
  try {
    const issuer = await discover(confidential.issuer);
    const request = async (id: string, auth: oauth.ClientAuth) => {
      const known = { client_id: id };
      const response = await oauth.clientCredentialsGrantRequest(
        issuer,
        known,
        auth,
        { resource, scope: "notes:read" },
        insecure,
      );
      return await oauth.processClientCredentialsResponse(issuer, known, response);
    };
    const key = oauth.PrivateKeyJwt({ key: privateKey, kid: "own" });
    for (const tokens of [
      await request("with a secret", oauth.ClientSecretBasic(secret)),
      await request("with a key", key),
    ])
      expect(tokens).toMatchObject({ scope: "notes:read", expires_in: 300 });
    const wrong = request("with a secret", oauth.ClientSecretBasic("another"));
    await expect(wrong).rejects.toMatchObject({ status: 401 });
  } finally {
    await confidential.stop();
  }
});

test("ends access tokens when their time is over", async () => {
  // Of the first of these seconds a part is over already.
  await authorization.setAccessTokenSeconds(2);
  const { access_token: token, expires_in: seconds } = await signIn();
  await authorization.setAccessTokenSeconds(60);
  expect(seconds).toBe(2);
  const { id, secret } = resourceServerClient;
  const asks = async () => {
    const own = { client_id: id };
    const auth = oauth.ClientSecretPost(secret);
    const response = await oauth.introspectionRequest(server, own, auth, token, insecure);
    return await oauth.processIntrospectionResponse(server, own, response);
  };
  expect(await asks()).toMatchObject({ active: true, aud: resource, sub: "ada" });
  await expect.poll(asks).toEqual({ active: false });
});

test("ends access tokens and grants on command", async () => {
  const tokens = await signIn();
  await authorization.expireAccessTokens();
  const { refresh_token: next } = await refresh(tokens.refresh_token);
  await authorization.revokeGrants("somebody else");
  const { refresh_token: last } = await refresh(next);
  await authorization.revokeGrants("ada");
  await expect(refresh(last)).rejects.toEqual(refused("invalid_grant"));
});
