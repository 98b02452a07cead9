import { inspect } from "node:util";
import { createMemoryStore, McpSessionError } from "@durable-mcp/core";
import { expect, test } from "vitest";
import {
  ada,
  ben,
  contentOf,
  createApplication,
  createClock,
  errorOf,
} from "../../test/application.ts";
import { type HandMadeRules, jwtBearer, startHandMadeServer } from "../../test/hand-made-server.ts";
import { startIdentityProvider } from "../../test/identity-provider.ts";
import type { EnterpriseOptions } from "../base/assertion-options.ts";
import { unencrypted } from "../oauth-options.ts";

const refused = { status: 401 } as const;
const loginUrl = "https://app.example/login";

async function start(
  enterprise: Partial<EnterpriseOptions> = {},
  metadata: HandMadeRules["metadata"] = { grant_types_supported: [jwtBearer] },
) {
  const provider = await startIdentityProvider();
  const server = await startHandMadeServer({ metadata });
  server.rules.checkAssertion = (parameters) =>
    provider.checkAssertion(server.issuer, server.url, parameters);
  const clock = createClock();
  const login = { user: "ada" as string | undefined, asked: 0 };
  const idTokens = new Map<string, Promise<string>>();
  const idToken = async () => {
    login.asked += 1;
    const { user } = login;
    if (user === undefined) return undefined;
    if (!idTokens.has(user)) idTokens.set(user, provider.idTokenOf(user));
    return await idTokens.get(user);
  };
  const { origin: issuer, client } = provider;
  const app = createApplication({
    ...{ url: server.url, now: clock.now, timeoutMs: 1_500 },
    enterprise: { issuer, client, idToken, loginUrl, ...enterprise },
    clients: [{ issuer: server.issuer, ...client }],
  });
  return { provider, server, clock, login, app };
}

test("a user comes in by the company's login, without a sign-in, once for all processes", async () => {
  const { provider, server, app } = await start();
  expect(await app.getToken()).toBeUndefined();
  const apps = Array.from({ length: 20 }, () => app.next());
  const tokens = await Promise.all(apps.map((each) => each.getToken({ refused })));
  const [given, ...others] = new Set(tokens.map((each) => each?.token));
  expect(others).toEqual([]);
  expect(server.accepts(given)).toBe(true);
  expect(provider.exchanges).toHaveLength(1);
  expect(Object.fromEntries(provider.exchanges[0]!)).toMatchObject({
    ...{ audience: server.issuer, resource: server.url },
  });
  expect(server.tokenRequests.map(({ grantType }) => grantType)).toEqual([jwtBearer]);
  expect(await app.oauth.authorizationFor(app.use)).toBeUndefined();
  expect(await app.oauth.list({ principal: ada })).toMatchObject([{ issuer: server.issuer }]);
  // Another user has none of it.
  expect(await app.getToken({ principal: ben })).toBeUndefined();
});

test("the provider is asked anew at the end of a token, and its revocation ends the access", async () => {
  const { provider, server, clock, app } = await start();
  const first = await app.getToken({ refused });
  clock.offsetMs = 3_600_000;
  const second = await app.getToken();
  expect(second?.token).not.toBe(first?.token);
  // A refresh token would outlive what the provider says.
  expect(server.refreshes()).toEqual([]);
  provider.revoked.add("ada");
  clock.offsetMs *= 2;
  const error = await errorOf(app.getToken());
  expect(error).toMatchObject({ code: "AUTHORIZATION_REQUIRED", data: { startUrl: loginUrl } });
  expect(await app.oauth.authorizationFor(app.use)).toMatchObject({ startUrl: loginUrl });
});

test("who is not logged in waits for that, is told once, and then goes on", async () => {
  const { provider, login, app } = await start();
  login.user = undefined;
  for (const again of [{ refused }, {}, {}]) {
    const error = await errorOf(app.getToken(again));
    expect(error).toMatchObject({ code: "AUTHORIZATION_REQUIRED", data: { startUrl: loginUrl } });
  }
  expect(await app.oauth.authorizationFor(app.use)).toMatchObject({ startUrl: loginUrl });
  expect(app.eventsOf("authorization-required")).toHaveLength(1);
  expect(provider.exchanges).toEqual([]);
  login.user = "ada";
  expect(await app.oauth.authorizationFor(app.use)).toBeUndefined();
  expect(await app.next().getToken()).toBeDefined();
  expect(await app.oauth.authorizationFor(app.use)).toBeUndefined();
});

test("an ID token that is over waits for another one", async () => {
  const { provider, app } = await start();
  const over = await provider.idTokenOf("ada");
  let idToken = over;
  const { enterprise } = app.options;
  const own = app.next({ enterprise: { ...enterprise!, idToken: () => idToken } });
  provider.revoked.add("ada");
  expect(await errorOf(own.getToken({ refused }))).toMatchObject({
    code: "AUTHORIZATION_REQUIRED",
  });
  expect(await own.oauth.authorizationFor(own.use)).toMatchObject({ startUrl: loginUrl });
  provider.revoked.clear();
  idToken = await provider.idTokenOf("ada");
  expect(await own.oauth.authorizationFor(own.use)).toBeUndefined();
  expect(await own.getToken()).toBeDefined();
});

test("users sign in as before at a server that does not offer it", async () => {
  for (const metadata of [
    {},
    { authorization_grant_profiles_supported: [], grant_types_supported: [jwtBearer] },
  ]) {
    const { app, login } = await start({}, metadata);
    const error = await errorOf(app.getToken({ refused }));
    expect(error.code).toBe("AUTHORIZATION_REQUIRED");
    expect(error.data["startUrl"]).toMatch(/^http:\/\/127.0.0.1:3999\/oauth\/start/);
    expect(login.asked).toBe(0);
  }
});

test("where only the company's login counts, the refusal names both sides", async () => {
  const { app, server, provider } = await start({ isRequired: true }, {});
  const error = await errorOf(app.getToken({ refused }));
  expect(error.code).toBe("CONNECTION_UNAVAILABLE");
  expect(error.message).toContain(server.issuer);
  expect(error.message).toContain(provider.origin);
});

test.each(["down", "silence", "5xx after it has issued"])(
  "a provider that is in trouble (%s) costs one try, and no login",
  async (kind) => {
    const { provider, app } = await start();
    const { enterprise } = app.options;
    const issuer = kind === "down" ? "http://127.0.0.1:1" : provider.origin;
    const tried = app.next({ enterprise: { ...enterprise!, issuer } });
    if (kind !== "down") provider.rules.trouble = kind === "silence" ? "silence" : { status: 502 };
    const error = await errorOf(tried.getToken({ refused }));
    expect(error.code).toBe("CONNECTION_UNAVAILABLE");
    expect(await app.oauth.authorizationFor(app.use)).toBeUndefined();
    provider.rules.trouble = undefined;
    await expect
      .poll(async () => await app.getToken({ refused }).catch(() => undefined), { timeout: 5_000 })
      .toBeDefined();
  },
);

test("what the provider or the server refuses is said, and nobody is sent to a login for it", async () => {
  const { provider, server, app } = await start();
  provider.rules.trouble = { error: "access_denied" };
  const denied = await errorOf(app.getToken({ refused }));
  expect(denied).toMatchObject({ code: "CONNECTION_UNAVAILABLE" });
  expect(denied.message).toContain("access_denied");
  const other = await start();
  other.server.rules.checkAssertion = async () => "invalid_grant";
  const error = await errorOf(other.app.getToken({ refused }));
  expect(error.message).toContain(`${other.server.issuer} gave no token: invalid_grant`);
  expect(server.tokenRequests).toEqual([]);
});

test("a refusal for more scopes is an exchange for more", async () => {
  const { server, provider, app } = await start();
  const { token } = (await app.getToken({ refused }))!;
  const challenge = { error: "insufficient_scope", scope: "notes:write" };
  const more = await app.getToken({ refused: { token, status: 403, challenge } });
  expect(more?.token).not.toBe(token);
  expect(provider.exchanges.at(-1)!.get("scope")).toBe("notes:write");
  server.rules.grants = "";
  const again = { token: more!.token, status: 403, challenge } as const;
  expect((await app.getToken({ refused: again }))?.token).toBe(more?.token);
});

test("what is asked for and given is in no event, error, list or unsealed store", async () => {
  const { provider, server, clock, app } = await start();
  const store = createMemoryStore();
  const open = app.next({ store, keys: unencrypted });
  await open.getToken({ refused });
  clock.offsetMs = 3_600_000;
  provider.rules.trouble = { error: "access_denied" };
  const errors = [await errorOf(open.getToken())];
  provider.rules.trouble = undefined;
  provider.revoked.add("ada");
  await new Promise((resolve) => setTimeout(resolve, 1_100));
  errors.push(await errorOf(open.getToken()));
  const listed = await open.oauth.list({ principal: ada });
  const told = inspect(
    [open.events, errors.map((each) => [each, each.data]), listed, await contentOf(store)],
    { depth: 20, maxStringLength: null },
  );
  expect(errors.every((each) => McpSessionError.isInstance(each))).toBe(true);
  for (const secret of provider.secrets) expect(told).not.toContain(secret);
  expect(server.tokenRequests).toHaveLength(1);
});

test("signing out revokes the token and does not end the login", async () => {
  const { server, app } = await start();
  const { token } = (await app.getToken({ refused }))!;
  expect(await app.oauth.deleteAll({ principal: ada })).toMatchObject([{ isRevoked: true }]);
  expect(server.accepts(token)).toBe(false);
  expect((await app.getToken({ refused }))?.token).not.toBe(token);
});
