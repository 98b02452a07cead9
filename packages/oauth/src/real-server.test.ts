import { generateKeyPairSync } from "node:crypto";
import { expect, test } from "vitest";
import { ada, createApplication, createClock, errorOf, redirectUrl } from "../test/application.ts";
import { startProtectedServer } from "../test/protected-server.ts";
import { signInByHand } from "../test/scripted-user.ts";
import {
  type AuthorizationServerOptions,
  startAuthorizationServer,
} from "../test/start-authorization-server.ts";
import type { OAuthOptions } from "./oauth-options.ts";

/** An application at a real `oidc-provider`: rotation with detection of reuse, `iss`, PKCE required. */
async function open(
  options: Partial<Omit<OAuthOptions, "onEvent">> = {},
  server: AuthorizationServerOptions = {},
) {
  const authorization = await startAuthorizationServer(server);
  const { url } = await startProtectedServer([authorization.issuer], ["notes:read"]);
  const clock = createClock();
  const app = createApplication({
    ...{ url: url.href, now: clock.now, timeoutMs: 5_000, clientName: "Notes", ...options },
  });
  const signIn = async () => {
    const callback = await signInByHand(new URL(await app.begin()), redirectUrl);
    return await app.callback(callback);
  };
  const tokenRequests = () => authorization.requests().filter((path) => path === "/token");
  return { authorization, app, clock, signIn, tokenRequests, url };
}

test("signs in, refreshes once in two processes, and signs out", async () => {
  const { app, clock, signIn, tokenRequests } = await open();
  expect((await signIn()).status).toBe(200);
  const first = (await app.getToken())!.token;
  expect(await app.oauth.list({ principal: ada })).toMatchObject([{ scopes: ["notes:read"] }]);
  for (const hours of [1, 2, 3]) {
    clock.offsetMs = hours * 3_600_000;
    const other = app.next();
    const tokens = await Promise.all(
      Array.from({ length: 8 }, async (_, index) => await (index % 2 ? app : other).getToken()),
    );
    expect(new Set(tokens.map((each) => each?.token)).size).toBe(1);
    expect(tokens[0]!.token).not.toBe(first);
  }
  expect(tokenRequests()).toHaveLength(4);
  expect(await app.oauth.signOut(app.use)).toMatchObject([{ isRevoked: true }]);
  expect(await app.getToken()).toBeUndefined();
});

test("asks for a sign-in where a refresh token was used by somebody else", async () => {
  const { app, clock, signIn, tokenRequests } = await open({ keys: "store tokens unencrypted" });
  await signIn();
  const { records } = await app.store.list({ limit: 10 });
  const { key, owner, value } = records.find((each) => each.key.includes("/grant/"))!;
  clock.offsetMs = 3_600_000;
  await app.getToken();
  // The record of before, as a backup that is played back has it.
  const current = await app.store.get(key);
  await app.store.put(key, value, current!.revision, { owner });
  expect((await errorOf(app.getToken())).code).toBe("AUTHORIZATION_REQUIRED");
  expect(tokenRequests()).toHaveLength(3);
  expect((await signIn()).status).toBe(200);
  expect(await app.getToken()).toBeDefined();
});

test("is the client of a metadata document", async () => {
  const clientMetadataUrl = "https://app.example/oauth/client.json";
  const document = {
    client_id: clientMetadataUrl,
    client_name: "Notes",
    redirect_uris: [redirectUrl],
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    token_endpoint_auth_method: "none",
  };
  const { app, clock, signIn, authorization } = await open(
    { clientMetadataUrl },
    { documents: { [clientMetadataUrl]: document } },
  );
  expect((await signIn()).status).toBe(200);
  const first = (await app.getToken())!.token;
  clock.offsetMs = 3_600_000;
  expect((await app.getToken())!.token).not.toBe(first);
  expect(authorization.requests()).not.toContain("/reg");
});

test.each(["client_secret_basic", "private_key_jwt"] as const)(
  "gives the application tokens of its own by %s",
  async (method) => {
    const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const hasKey = method === "private_key_jwt";
    const jwk = { ...publicKey.export({ format: "jwk" }), alg: "ES256", use: "sig", kid: "own" };
    const authorization = await startAuthorizationServer({
      clients: [
        {
          client_id: "app-of_notes.1",
          grant_types: ["client_credentials"],
          redirect_uris: [],
          response_types: [],
          token_endpoint_auth_method: method,
          ...(hasKey
            ? { jwks: { keys: [jwk] }, token_endpoint_auth_signing_alg: "ES256" }
            : { client_secret: "a-secret_with.dots" }),
        },
      ],
    });
    const { url } = await startProtectedServer([authorization.issuer]);
    const app = createApplication({
      url: url.href,
      clients: [
        {
          issuer: authorization.issuer,
          clientId: "app-of_notes.1",
          clientCredentials: true,
          scopes: ["notes:read"],
          ...(hasKey
            ? { privateKey: privateKey.export({ format: "jwk" }), keyId: "own" }
            : { clientSecret: "a-secret_with.dots" }),
        },
      ],
    });
    const principal = { type: "app" } as const;
    const first = await app.getToken({ principal, refused: { status: 401 } });
    expect(first?.token).toBeDefined();
    expect(await app.getToken({ principal })).toEqual(first);
    expect(await app.oauth.list({ principal })).toMatchObject([{ scopes: ["notes:read"] }]);
  },
);
