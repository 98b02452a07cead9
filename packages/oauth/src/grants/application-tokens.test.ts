import { expect, test } from "vitest";
import { createApplication, createClock, errorOf } from "../../test/application.ts";
import { type HandMadeRules, startHandMadeServer } from "../../test/hand-made-server.ts";
import type { OAuthClient } from "../base/oauth-client.ts";

const principal = { type: "app" } as const;
const refused = { status: 401 } as const;

async function start(rules: Partial<HandMadeRules> = {}, client: Partial<OAuthClient> = {}) {
  const server = await startHandMadeServer(rules);
  const clock = createClock();
  const own = { issuer: server.issuer, clientId: "own", clientCredentials: true };
  const app = createApplication({
    ...{ url: server.url, now: clock.now },
    clients: [{ ...own, clientSecret: "secret-of_app.", scopes: ["notes:read"], ...client }],
  });
  return { server, clock, app };
}

test("gives the application tokens of its own, once for all, after the server has asked", async () => {
  const { server, app } = await start();
  expect(await app.getToken({ principal })).toBeUndefined();
  expect(server.requests).toHaveLength(0);
  const other = app.next();
  const tokens = await Promise.all(
    [app, other, app].map((each) => each.getToken({ principal, refused })),
  );
  expect(new Set(tokens.map((each) => each?.token)).size).toBe(1);
  const [{ grantType, parameters, authorization }, ...more] = server.tokenRequests as [
    (typeof server.tokenRequests)[0],
  ];
  expect(more).toEqual([]);
  expect(grantType).toBe("client_credentials");
  expect(Object.fromEntries(parameters)).toMatchObject({
    resource: server.url,
    scope: "notes:read",
  });
  expect(authorization).toBe(`Basic ${btoa("own:secret-of_app.")}`);
  expect(await app.oauth.list({ principal })).toMatchObject([
    { connection: "notes", scopes: ["notes:read"] },
  ]);
});

test("asks again at the end of the token, and after a refusal, where the server has not moved", async () => {
  const { server, clock, app } = await start();
  const first = (await app.getToken({ principal, refused }))!.token;
  clock.offsetMs = 3_600_000;
  const before = server.requests.length;
  const second = (await app.getToken({ principal }))!.token;
  expect(second).not.toBe(first);
  const third = await app.getToken({ principal, refused: { status: 401, token: second } });
  expect(third?.token).not.toBe(second);
  expect(server.requests.slice(before).map(({ url }) => url)).toEqual([
    "/token",
    "/.well-known/oauth-protected-resource/mcp",
    "/token",
  ]);
});

test("asks the authorization server that the server has moved to", async () => {
  const { server, app } = await start();
  const { token } = (await app.getToken({ principal, refused }))!;
  // This application has no registration there.
  const other = await startHandMadeServer();
  server.rules.resourceMetadata = { authorization_servers: [other.issuer] };
  const error = await errorOf(app.getToken({ principal, refused: { status: 401, token } }));
  expect(error.message).not.toContain("secret-of_app.");
  expect(server.tokenRequests).toHaveLength(1);
  expect(other.tokenRequests).toEqual([]);
});

test("an issuer that is not allowed any more is not asked again", async () => {
  const { server, clock, app } = await start();
  await app.getToken({ principal, refused });
  clock.offsetMs = 3_600_000;
  const strict = app.next({ allowIssuers: ["https://login.test"] });
  await errorOf(strict.getToken({ principal }));
  expect(server.tokenRequests).toHaveLength(1);
});

test("does not use a user's registration for the application, nor the other way round", async () => {
  const { server, app } = await start({}, { clientCredentials: false });
  expect((await errorOf(app.getToken({ principal, refused }))).code).toBe("AUTHORIZATION_REQUIRED");
  const own = (await start()).app;
  const { code } = await errorOf(own.getToken({ refused }));
  expect(code).toBe("AUTHORIZATION_REQUIRED");
  const asked = new URL(await app.begin());
  expect(asked.searchParams.get("client_id")).toBe("own");
  expect(server.tokenRequests).toEqual([]);
});

test("a server that does not answer is unavailable, and is asked again later", async () => {
  const { server, clock, app } = await start();
  for (const isDown of [true, true, true, true]) {
    server.rules.onRequest = (_request, response) => {
      response.writeHead(503).end();
      return isDown;
    };
    const { code } = await errorOf(app.getToken({ principal, refused }));
    expect(code).toBe("CONNECTION_UNAVAILABLE");
    clock.offsetMs += 1_500;
  }
  server.rules.onRequest = undefined;
  expect(server.accepts((await app.getToken({ principal, refused }))?.token)).toBe(true);
});

test("asks again however many processes have ended while they asked", async () => {
  const { server, clock, app } = await start();
  server.rules.onToken = () => new Promise(() => {}); // it never answers
  for (let each = 0; each < 3; each += 1) {
    void app.getToken({ principal, refused }).catch(() => undefined);
    await expect.poll(() => server.tokenRequests.length).toBe(each + 1);
    clock.offsetMs += 25_000; // past the lease
  }
  server.rules.onToken = undefined;
  expect(server.accepts((await app.getToken({ principal, refused }))?.token)).toBe(true);
});

test("a refused client needs a sign-in or another registration", async () => {
  const { server, app } = await start();
  server.rules.onToken = () => ({ status: 401, body: { error: "invalid_client" } });
  expect((await errorOf(app.getToken({ principal, refused }))).code).toBe("AUTHORIZATION_REQUIRED");
  expect(app.eventsOf("refresh-refused")).toHaveLength(1);
  server.rules.onToken = undefined;
  expect(await app.getToken({ principal, refused })).toBeDefined();
});

test("an issuer that is not allowed gets no secret", async () => {
  const server = await startHandMadeServer();
  const app = createApplication({
    url: server.url,
    allowIssuers: ["https://issuer.example"],
    clients: [
      { issuer: server.issuer, clientId: "own", clientSecret: "s", clientCredentials: true },
    ],
  });
  expect((await errorOf(app.getToken({ principal, refused }))).code).toBe("CONNECTION_UNAVAILABLE");
  expect(server.tokenRequests).toEqual([]);
});
