import { expect, test } from "vitest";
import {
  ada,
  ben,
  contentOf,
  createApplication,
  errorOf,
  redirectUrl,
} from "../../test/application.ts";
import { type HandMadeRules, startHandMadeServer } from "../../test/hand-made-server.ts";
import type { OAuthOptions } from "../oauth-options.ts";
import type { StartUse } from "./routes.ts";

async function locked(
  rules: Partial<HandMadeRules> = {},
  options: Partial<Omit<OAuthOptions, "onEvent">> = {},
) {
  const server = await startHandMadeServer(rules);
  const app = createApplication({ url: server.url, ...options });
  const challenge = { scope: "notes:read" };
  const { data } = await errorOf(app.getToken({ refused: { status: 401, challenge } }));
  const start = async (link: string, more: Partial<StartUse> = {}) =>
    await app.oauth.start(new Request(link), { principal: ada, ...more });
  return { server, app, startUrl: data.startUrl!, start };
}

test("sends the browser to the authorization server, with PKCE and the resource", async () => {
  const { server, startUrl, start, app } = await locked();
  expect(startUrl).toMatch(
    /^http:\/\/127\.0\.0\.1:3999\/oauth\/start\?connection=notes&resource=[\da-f]{32}$/,
  );
  expect(server.requests).toHaveLength(0);
  const response = await start(startUrl);
  expect(response.status).toBe(303);
  expect(response.headers.get("cache-control")).toBe("no-store");
  expect(response.headers.get("referrer-policy")).toBe("no-referrer");
  const location = new URL(response.headers.get("location")!);
  expect(location.origin + location.pathname).toBe(`${server.issuer}/authorize`);
  expect(Object.fromEntries(location.searchParams)).toEqual({
    response_type: "code",
    client_id: "client-1",
    redirect_uri: redirectUrl,
    resource: server.url,
    scope: "notes:read",
    code_challenge_method: "S256",
    code_challenge: expect.stringMatching(/^[\w-]{43}$/),
    state: expect.stringMatching(/^[\w-]{43}$/),
  });
  // Another click has a state and a verifier of its own.
  const again = new URL((await start(startUrl)).headers.get("location")!).searchParams;
  for (const name of ["state", "code_challenge"]) {
    expect(again.get(name)).not.toBe(location.searchParams.get(name));
  }
  await app.callback(server.consent(location));
  expect(await app.getToken()).toBeDefined();
});

test("asks for offline_access where the server has it", async () => {
  const { startUrl, start } = await locked({
    metadata: { scopes_supported: ["offline_access", "notes:read"] },
  });
  const location = new URL((await start(startUrl)).headers.get("location")!);
  expect(location.searchParams.get("scope")).toBe("notes:read offline_access");
  expect(location.searchParams.get("prompt")).toBe("consent");
});

test("has the application's own start page, with its own query", async () => {
  const { startUrl } = await locked({}, { startUrl: "https://app.example/sign-in?theme=dark" });
  expect(startUrl).toMatch(
    /^https:\/\/app\.example\/sign-in\?theme=dark&connection=notes&resource=/,
  );
});

test("knows no link of somebody else, nor one that nobody gave", async () => {
  const { server, app, startUrl, start } = await locked();
  const before = await contentOf(app.store);
  const changedTo = (name: string, value: string) => {
    const url = new URL(startUrl);
    url.searchParams.set(name, value);
    return url.href;
  };
  const answers = await Promise.all([
    start(startUrl, { principal: ben }),
    start(changedTo("resource", "0".repeat(32))),
    start(changedTo("resource", "../../client/x")),
    start(changedTo("resource", "")),
    start(redirectUrl),
    start(`${redirectUrl}?connection=linear`),
    start(startUrl, { connection: "linear" }),
  ]);
  for (const answer of answers) {
    expect(answer.status).toBe(404);
    expect(answer.headers.get("content-security-policy")).toContain("default-src 'none'");
    expect(await answer.text()).toContain("There is nothing to sign in to");
  }
  expect(await contentOf(app.store)).toEqual(before);
  expect(server.requests).toHaveLength(0);
});

test("finds what waits by the connection's name alone", async () => {
  const { start } = await locked();
  expect((await start(redirectUrl, { connection: "notes" })).status).toBe(303);
  expect((await start(`${redirectUrl}?connection=notes`)).status).toBe(303);
});

test("begins a sign-in that no server has asked for", async () => {
  const server = await startHandMadeServer();
  const app = createApplication({ url: server.url });
  const request = new Request(redirectUrl);
  const response = await app.oauth.start(request, { principal: ada, url: server.url });
  await app.callback(server.consent(response.headers.get("location")!));
  expect(await app.oauth.list({ principal: ada })).toMatchObject([
    { connection: new URL(server.url).host },
  ]);
});

const linkLocal = "http://169.254.169.254";

test.each<[string, Partial<HandMadeRules>, string, string]>([
  [
    "says nothing of PKCE",
    { metadata: { code_challenge_methods_supported: undefined } },
    "CONNECTION_UNAVAILABLE",
    "PKCE",
  ],
  [
    "is at a link-local address",
    { resourceMetadata: { authorization_servers: [linkLocal] } },
    "CONNECTION_UNAVAILABLE",
    linkLocal,
  ],
  [
    "has a page that is a script",
    { metadata: { authorization_endpoint: "javascript:alert(1)" } },
    "CONNECTION_UNAVAILABLE",
    "`authorization_endpoint`",
  ],
  [
    "redirects",
    { onRequest: (_request, response) => !!response.writeHead(302, { location: linkLocal }).end() },
    "CONNECTION_UNAVAILABLE",
    "redirect",
  ],
  ["does not answer", { onRequest: () => true }, "CONNECTION_UNAVAILABLE", "GET at http"],
])("does not begin where the server %s", async (_name, rules, code, words) => {
  const { app, startUrl, start, server } = await locked(rules, { timeoutMs: 300 });
  const response = await start(startUrl);
  expect(response.status).toBe(502);
  const page = await response.text();
  expect(page).toContain("could not begin");
  for (const secret of [server.origin, linkLocal, "alert"]) expect(page).not.toContain(secret);
  const [event] = app.eventsOf("sign-in-refused");
  expect(event).toMatchObject({ reason: "not-started", connection: "notes", error: { code } });
  expect(event!.error!.message).toContain(words);
  const keys = (await contentOf(app.store)).map(({ key }) => key);
  expect(keys.filter((key) => key.includes("oauth/sign-in/"))).toEqual([]);
});

test("asks no address that a challenge names elsewhere", async () => {
  const { server, app } = await locked();
  const elsewhere = await startHandMadeServer();
  for (const origin of [elsewhere.origin, linkLocal, "https://10.0.0.1", "file://"]) {
    const challenge = { resourceMetadata: `${origin}/.well-known/oauth-protected-resource/mcp` };
    const { data } = await errorOf(app.getToken({ refused: { status: 401, challenge } }));
    const response = await app.oauth.start(new Request(data.startUrl!), { principal: ada });
    expect(response.status).toBe(502);
  }
  const reasons = app.eventsOf("sign-in-refused").map(({ error }) => error?.data.reason);
  expect(reasons).toEqual(Array(4).fill("other-origin"));
  expect([...elsewhere.requests, ...server.requests]).toEqual([]);
});

test("believes a server's last word about where its metadata is", async () => {
  const { server, app } = await locked();
  const refuse = async (status: 401 | 403, resourceMetadata?: string) =>
    await errorOf(app.getToken({ refused: { status, challenge: { resourceMetadata } } }));
  await refuse(401, `${server.origin}/gone`);
  await refuse(403);
  await expect(app.begin()).rejects.toThrow("No sign-in");
  expect(server.requests.map(({ url }) => url)).toEqual(["/gone"]);
  await refuse(401);
  await app.begin();
});

test("uses the issuers that the application allows, and asks no other", async () => {
  const issuer = await startHandMadeServer();
  const rules = {
    resourceMetadata: { authorization_servers: [issuer.issuer, "https://other.example"] },
  };
  const asked: unknown[] = [];
  for (const allowIssuers of [
    ["https://allowed.example"],
    [],
    (url: URL, use: { url: URL; connection: string }) => {
      asked.push([url.href, use.url.pathname, use.connection]);
      return false;
    },
    // A promise is no yes.
    (async () => true) as unknown as () => boolean,
  ]) {
    const { app, start, startUrl } = await locked(rules, { allowIssuers });
    expect((await start(startUrl)).status).toBe(502);
    expect(app.eventsOf("sign-in-refused")[0]!.error!.message).toContain("allowIssuers");
  }
  expect(asked).toEqual([
    [`${issuer.issuer}/`, "/mcp", "notes"],
    ["https://other.example/", "/mcp", "notes"],
  ]);
  expect(issuer.requests).toEqual([]);
  const { start, startUrl } = await locked(rules, { allowIssuers: [`${issuer.issuer}/`] });
  expect((await start(startUrl)).headers.get("location")).toContain(`${issuer.issuer}/authorize`);
});
