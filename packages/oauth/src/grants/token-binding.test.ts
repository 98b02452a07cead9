import { inspect } from "node:util";
import { createMemoryStore } from "@durable-mcp/core";
import { expect, test } from "vitest";
import { ada, contentOf, createApplication, errorOf, redirectUrl } from "../../test/application.ts";
import { startHandMadeServer } from "../../test/hand-made-server.ts";
import { startProofCheckingServer } from "../../test/proof-checking-server.ts";
import { signInByHand } from "../../test/scripted-user.ts";
import { startAuthorizationServer } from "../../test/start-authorization-server.ts";
import { type OAuthOptions, unencrypted } from "../oauth-options.ts";

type Options = Partial<Omit<OAuthOptions, "onEvent">>;

/** A real authorization server and an MCP server that both want a proof with a nonce in each request. */
async function start(
  options: Options = {},
  accessTokenSeconds: number | (() => number) = 3_600,
  isNamed = true,
) {
  const authorization = await startAuthorizationServer({ withDpop: true, accessTokenSeconds });
  const server = await startProofCheckingServer({
    ...{ keyOf: authorization.keyOf, issuers: [authorization.issuer], isNamed },
  });
  const app = createApplication({ url: server.url, timeoutMs: 5_000, ...options });
  const signIn = async () => {
    const callback = await signInByHand(new URL(await app.begin()), redirectUrl);
    return await app.callback(callback);
  };
  const tokenRequests = () => authorization.requests().filter((path) => path === "/token").length;
  return { authorization, server, app, signIn, tokenRequests };
}

type App = ReturnType<typeof createApplication>;

const call = async ({ oauth }: App, url: string, n = 1) =>
  await Promise.all(
    Array.from({ length: n }, async (_, index) => {
      const { fetch } = oauth.connect({ principal: ada, url, connection: "notes" });
      const body = JSON.stringify({ index });
      return (await fetch(`${url}?n=${index}`, { method: "POST", body })).status;
    }),
  );

test("a token is bound to a key, and each request has a proof of its own", async () => {
  const { server, app, signIn } = await start();
  expect((await signIn()).status).toBe(200);
  expect(await call(app, server.url, 5)).toEqual([200, 200, 200, 200, 200]);
  // Another process has the key and the nonce.
  const before = server.requests.length;
  expect(await call(app.next(), server.url)).toEqual([200]);
  expect(server.requests.length).toBe(before + 1);
  expect(server.state).toMatchObject({ answered: 6, bearer: 0 });
  expect(new Set(server.state.refused)).toEqual(new Set(["use_dpop_nonce"]));
});

test("twenty processes at once refresh once, and each call is answered", async () => {
  let seconds = 1;
  const { server, app, signIn, tokenRequests } = await start({}, () => seconds);
  await signIn();
  // A second is over before twenty processes are answered, on a busy machine.
  seconds = 3_600;
  const [before, used] = [tokenRequests(), server.state.refused.length];
  await new Promise((resolve) => setTimeout(resolve, 1_100));
  const apps = Array.from({ length: 20 }, () => app.next());
  const answers = await Promise.all(apps.map((each) => call(each, server.url)));
  expect(answers.flat()).toEqual(Array.from({ length: 20 }, () => 200));
  // One refresh, which the nonce of the sign-in serves.
  expect(tokenRequests() - before).toBe(1);
  expect(server.state.refused.slice(used).every((why) => why === "use_dpop_nonce")).toBe(true);
});

test("a challenge is enough to learn that a server takes proofs", async () => {
  const { server, app, signIn } = await start({}, 3_600, false);
  const [error] = await Promise.allSettled([call(app, server.url)]);
  expect(error).toMatchObject({ reason: { code: "AUTHORIZATION_REQUIRED" } });
  await signIn();
  expect(await call(app, server.url)).toEqual([200]);
});

test("where the authorization server alone takes proofs, tokens are bearer tokens", async () => {
  const server = await startHandMadeServer({
    metadata: { dpop_signing_alg_values_supported: ["ES256"] },
  });
  const app = createApplication({ url: server.url });
  await app.callback(server.consent(await app.begin()));
  expect((await app.getToken())?.token).toMatch(/^access-/);
  expect(server.requests.every(({ headers }) => headers["dpop"] === undefined)).toBe(true);
});

test("a nonce is good for one request, where a server wants that", async () => {
  const { server, app, signIn } = await start();
  await signIn();
  server.state.isOnce = true;
  expect(await call(app, server.url, 8)).toEqual(Array.from({ length: 8 }, () => 200));
});

test("a nonce that changes is learned once by each process, and shared", async () => {
  const { server, app, signIn } = await start();
  await signIn();
  await call(app, server.url);
  server.state.nonce = "nonce-2";
  expect(await call(app, server.url, 8)).toEqual(Array.from({ length: 8 }, () => 200));
  const before = server.state.refused.length;
  expect(await call(app.next(), server.url)).toEqual([200]);
  expect(server.state.refused.length).toBe(before);
});

test("a bound token is given to no one who would send it bare", async () => {
  const { server, app, signIn } = await start();
  await signIn();
  const error = await errorOf(app.getToken());
  expect(error).toMatchObject({ code: "CONNECTION_INVALID", data: { field: "takesDpop" } });
  const { authProvider } = app.oauth.connect({ principal: ada, url: server.url });
  expect(await authProvider.tokens()).toBeUndefined();
  const given = await app.getToken({ takesDpop: true });
  expect(given?.dpop).toBeDefined();
  expect(server.state.bearer).toBe(0);
});

test("a client that sends no proofs signs in for a bearer token", async () => {
  const { app } = await start();
  const request = new Request(redirectUrl);
  const started = await app.oauth.start(request, { ...app.use, isBearer: true });
  const location = new URL(started.headers.get("location")!);
  await app.callback(await signInByHand(location, redirectUrl));
  const given = await app.getToken();
  expect(given?.token).toBeDefined();
  expect(given?.dpop).toBeUndefined();
});

test("an older release does not see it, asks for a sign-in, and loses nothing", async () => {
  const { server, app, signIn } = await start({ keys: unencrypted });
  await signIn();
  const grant = (await contentOf(app.store)).find(({ key }) => key.includes("oauth/grant/"))!;
  expect(grant.value).not.toHaveProperty("tokens");
  const needed = { scopes: [], askedAt: Date.now() };
  const value = { ...(grant.value as object), needed } as never;
  await app.store.put(grant.key, value, grant.revision, { owner: grant.owner });
  expect(await call(app, server.url)).toEqual([200]);
});

test("a server without proofs gives bearer tokens; where they are required, it is refused", async () => {
  const server = await startHandMadeServer();
  const app = createApplication({ url: server.url });
  await app.callback(server.consent(await app.begin()));
  expect(await app.getToken()).toMatchObject({ token: expect.stringMatching(/^access-/) });
  const strict = app.next({ dpop: "required" });
  const response = await strict.oauth.start(new Request(redirectUrl), strict.use);
  expect(response.status).toBeGreaterThanOrEqual(400);
  // It says that it does, and gives a bearer token.
  server.rules.metadata = { dpop_signing_alg_values_supported: ["ES256"] };
  server.rules.resourceMetadata = { dpop_signing_alg_values_supported: ["ES256"] };
  await strict.callback(server.consent(await strict.begin()));
  const [refused] = strict.eventsOf("sign-in-refused").slice(-1);
  expect(refused?.error?.message).toContain('dpop is "required"');
  // Others take it as it is.
  const other = app.next({ store: createMemoryStore() });
  await other.callback(server.consent(await other.begin()));
  expect((await other.getToken())?.dpop).toBeUndefined();
});

test("without dpop no proof is sent", async () => {
  const server = await startHandMadeServer({
    metadata: { dpop_signing_alg_values_supported: ["ES256"] },
    resourceMetadata: { dpop_signing_alg_values_supported: ["ES256"] },
  });
  const app = createApplication({ url: server.url, dpop: false });
  await app.callback(server.consent(await app.begin()));
  expect(await app.getToken()).toBeDefined();
  expect(server.requests.every(({ headers }) => headers["dpop"] === undefined)).toBe(true);
});

test("keys, proofs and nonces are in no event, list, error or unsealed store", async () => {
  const store = createMemoryStore();
  const { server, app, signIn } = await start({ store });
  await signIn();
  await call(app, server.url, 3);
  const error = await errorOf(app.getToken());
  const stored = await contentOf(store);
  const told = inspect(
    [app.events, error, error.data, await app.oauth.list({ principal: ada }), stored],
    { depth: 20, maxStringLength: null },
  );
  expect(server.secrets.size).toBeGreaterThan(3);
  for (const secret of server.secrets) expect(told).not.toContain(secret);
  expect(told).not.toMatch(/"?crv"?:/);
});
