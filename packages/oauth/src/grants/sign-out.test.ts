import { createMemoryStore } from "@durable-mcp/core";
import { encryptStore } from "@durable-mcp/core/sealing";
import { expect, test } from "vitest";
import { ada, ben, contentOf, createApplication, errorOf } from "../../test/application.ts";
import { startHandMadeServer } from "../../test/hand-made-server.ts";
import { grantOf, signedIn, unencrypted } from "../../test/signed-in.ts";

const hour = 3_600_000;
const notes = { principal: ada, connection: "notes" };

test("forgets the tokens, and revokes them at the authorization server", async () => {
  const { server, app, token } = await signedIn({}, { keys: unencrypted });
  const { refreshToken } = (await grantOf(app.store)).record.tokens!;
  expect(await app.oauth.signOut(notes)).toEqual([
    { connection: "notes", server: server.origin, isRevoked: true },
  ]);
  expect(server.revoked).toEqual([refreshToken, token]);
  expect(server.accepts(token)).toBe(false);
  expect(await app.getToken()).toBeUndefined();
  expect(await app.oauth.list({ principal: ada })).toEqual([]);
  expect(app.eventsOf("signed-out")).toEqual([
    { type: "signed-out", connection: "notes", isRevoked: true },
  ]);
  for (const secret of server.secrets) {
    expect(JSON.stringify(await contentOf(app.store))).not.toContain(secret);
  }
  expect(await app.oauth.signOut(notes)).toEqual([]);
});

test.each([
  ["has no revocation", { metadata: { revocation_endpoint: undefined } }],
  ["refuses it", { onRevocation: () => ({ status: 503, body: {} }) }],
  ["does not answer", { onRevocation: () => "cut" as const }],
])("forgets the tokens where the authorization server %s, and says so", async (_name, rules) => {
  const { app } = await signedIn(rules);
  expect(await app.oauth.signOut(notes)).toMatchObject([{ isRevoked: false }]);
  expect(app.eventsOf("signed-out")).toMatchObject([{ isRevoked: false }]);
  expect(await app.getToken()).toBeUndefined();
});

test("signs out where it was told, and nobody else", async () => {
  const { server, app, token } = await signedIn();
  const otherUrl = `${server.origin}/mcp?team=2`;
  server.rules.onRequest = (request, response) => {
    if (request.url !== "/.well-known/oauth-protected-resource/mcp?team=2") return false;
    const metadata = { resource: server.url, authorization_servers: [server.origin] };
    response.setHeader("content-type", "application/json").end(JSON.stringify(metadata));
    return true;
  };
  await app.callback(server.consent(await app.begin({ url: otherUrl })));
  await app.callback(server.consent(await app.begin({ principal: ben })), ben);
  const { oauth } = app;
  expect(await oauth.signOut({ ...notes, connection: "linear" })).toEqual([]);
  expect(await oauth.signOut({ ...notes, url: `${server.origin}/elsewhere` })).toEqual([]);
  expect(await oauth.signOut({ ...notes, url: otherUrl })).toHaveLength(1);
  expect((await app.getToken())?.token).toBe(token);
  await app.callback(server.consent(await app.begin({ url: otherUrl })));
  expect(await oauth.signOut(notes)).toHaveLength(2);
  expect(await app.getToken({ principal: ben })).toBeDefined();
  expect(await app.oauth.deleteAll({ principal: ben })).toHaveLength(1);
  expect(await app.oauth.list({ principal: ben })).toEqual([]);
});

test("signs out of a connection that has another name by now", async () => {
  const { server, clock, app } = await signedIn();
  const renamed = { principal: ada, connection: "renamed" };
  expect(await app.oauth.signOut({ ...renamed, url: server.url })).toMatchObject([
    { connection: "notes", isRevoked: true },
  ]);
  await app.callback(server.consent(await app.begin()));
  clock.offsetMs = hour;
  await app.getToken({ connection: "renamed" });
  expect(await app.oauth.signOut(renamed)).toMatchObject([{ connection: "renamed" }]);
});

test("forgets the tokens where its client cannot be used any more", async () => {
  const metadata = { token_endpoint_auth_methods_supported: ["none"] };
  const { server, app } = await signedIn({ metadata });
  const wrong = { issuer: server.issuer, clientId: "client-1", clientSecret: "of no use" };
  const next = app.next({ clients: [wrong] });
  expect(await next.oauth.signOut(notes)).toMatchObject([{ isRevoked: false }]);
  expect(await app.getToken()).toBeUndefined();
});

test("tells what began before from what began after it by no clock", async () => {
  const { server, clock, app } = await signedIn();
  const slow = app.next({ now: () => clock.now() - 300_000 });
  const begun = server.consent(await app.begin());
  await slow.oauth.signOut(notes);
  expect((await app.callback(begun)).status).toBe(400);
  expect(app.eventsOf("sign-in-refused")).toMatchObject([{ reason: "signed-out" }]);

  await app.callback(server.consent(await app.begin()));
  await app.oauth.signOut(notes);
  expect((await slow.callback(server.consent(await slow.begin()))).status).toBe(200);
});

/** Runs something while the authorization server works on a refresh. @returns the refresh */
async function during(
  { server, clock, app }: Awaited<ReturnType<typeof signedIn>>,
  work: () => Promise<unknown>,
  at = hour,
) {
  clock.offsetMs = at;
  const { promise: held, resolve: release } = Promise.withResolvers<void>();
  server.rules.onToken = async (_request, usual) => {
    server.rules.onToken = undefined;
    const answer = usual();
    await held;
    return answer;
  };
  const refresh = app.getToken();
  const settled = Promise.allSettled([refresh]);
  await expect.poll(() => server.refreshes().length).toBe(1);
  await work();
  release();
  return (await settled)[0];
}

test("is not undone by a refresh under way, whose tokens are revoked", async () => {
  const it = await signedIn({}, { keys: unencrypted });
  const result = await during(it, async () => await it.app.next().oauth.signOut(notes));
  expect(result).toMatchObject({ status: "rejected", reason: { code: "AUTHORIZATION_REQUIRED" } });
  expect(await it.app.oauth.list({ principal: ada })).toEqual([]);
  const issued = [...it.server.secrets].filter((secret) => /^(?:access|refresh)-/.test(secret));
  expect(issued).toHaveLength(4);
  expect(it.server.revoked).toEqual(expect.arrayContaining(issued));
  expect((await grantOf(it.app.store)).record.tokens).toBeUndefined();
});

test("is not undone by an early refresh under way", async () => {
  const it = await signedIn();
  await during(it, async () => await it.app.oauth.signOut(notes), hour - 59_000);
  expect(await it.app.oauth.list({ principal: ada })).toEqual([]);
  expect(await it.app.getToken()).toBeUndefined();
  expect(it.server.revoked).toHaveLength(4);
});

test("a deleted record is not written again by a refresh under way", async () => {
  const it = await signedIn({}, { keys: unencrypted });
  const result = await during(it, async () => {
    await it.app.store.delete((await grantOf(it.app.store)).key);
  });
  expect(result).toMatchObject({ status: "rejected", reason: { code: "AUTHORIZATION_REQUIRED" } });
  expect(await it.app.oauth.list({ principal: ada })).toEqual([]);
  expect(it.server.revoked).toHaveLength(2);
});

test("a second sign-in wins over a refresh under way, and over those that wait for it", async () => {
  const it = await signedIn();
  let waiting: Promise<unknown> | undefined;
  const result = await during(it, async () => {
    waiting = it.app.next().getToken();
    await it.app.callback(it.server.consent(await it.app.begin()));
  });
  const current = await it.app.getToken();
  expect(result).toEqual({ status: "fulfilled", value: current });
  expect(await waiting).toEqual(current);
  expect(it.server.accepts(current?.token)).toBe(true);
  expect(it.server.revoked).toEqual([]);
});

test("a sign-in that began before does not count, and its tokens are revoked", async () => {
  const { server, app } = await signedIn();
  const callback = server.consent(await app.begin());
  await app.oauth.signOut(notes);
  const before = server.revoked.length;
  const response = await app.callback(callback);
  expect(response.status).toBe(400);
  expect(await response.text()).toContain("You have signed out");
  expect(app.eventsOf("sign-in-refused")).toMatchObject([{ reason: "signed-out" }]);
  expect(await app.oauth.list({ principal: ada })).toEqual([]);
  expect(server.revoked.slice(before)).toHaveLength(2);

  await new Promise((resolve) => setTimeout(resolve, 2));
  await app.callback(server.consent(await app.begin()));
  expect(await app.getToken()).toBeDefined();
});

test.each(["signOut", "deleteAll"] as const)(
  "%s also ends the first sign-in of all, that is under way",
  async (how) => {
    const server = await startHandMadeServer();
    const app = createApplication({ url: server.url });
    const callback = server.consent(await app.begin());
    await app.oauth[how](notes);
    await app.callback(callback);
    expect(app.eventsOf("sign-in-refused")).toMatchObject([{ reason: "signed-out" }]);
    expect(await app.getToken()).toBeUndefined();
  },
);

test("leaves a mark that goes by itself", async () => {
  const { clock, app } = await signedIn({}, { keys: unencrypted, store: createMemoryStore() });
  await app.oauth.signOut(notes);
  const { expiresAt } = await grantOf(app.store);
  expect(expiresAt).toBeGreaterThan(clock.now() + 600_000);
  expect(expiresAt).toBeLessThan(clock.now() + 700_000);
});

test("signs out of the servers that other clients have signed in to", async () => {
  const { server, app } = await signedIn();
  await app.oauth.deleteAll({ principal: ada });
  const { fetch } = app.oauth.connect({
    ...{ principal: ada, url: server.url },
    fetch: async () => new Response(null, { status: 401 }),
  });
  expect((await errorOf(fetch(server.url))).data).toMatchObject({
    connection: new URL(server.url).host,
  });
});

test("lists and ends grants in a store with fingerprints of principals", async () => {
  const inner = createMemoryStore();
  const [current, fingerprintKey] = [new Uint8Array(32).fill(1), new Uint8Array(32).fill(2)];
  const store = encryptStore(inner, { keys: { current }, fingerprintKey });
  const server = await startHandMadeServer({ grants: "notes:read" });
  const app = createApplication({ url: server.url, store });
  await app.callback(server.consent(await app.begin()));
  await app.callback(server.consent(await app.begin({ principal: ben })), ben);
  expect(await app.oauth.list({ principal: ada })).toMatchObject([
    { connection: "notes", server: server.origin, issuer: server.issuer, scopes: ["notes:read"] },
  ]);
  const seen = JSON.stringify(await contentOf(inner));
  // With the quote before it, because three letters are in a sealed text by chance.
  for (const secret of [...server.secrets, '"ada', "login.example"])
    expect(seen).not.toContain(secret);
  const plain = JSON.stringify(await contentOf(store));
  expect(plain).toContain('"ada');
  expect(await app.next().oauth.signOut(notes)).toHaveLength(1);
  expect(await app.getToken()).toBeUndefined();
  expect(await app.getToken({ principal: ben })).toBeDefined();
  expect(await app.oauth.deleteAll({ principal: ben })).toHaveLength(1);
  expect(await app.getToken({ principal: ben })).toBeUndefined();
});

test("takes no part of a grant that a refresh was refused for, once the user is in again", async () => {
  const { server, clock, app } = await signedIn({}, { keys: unencrypted });
  clock.offsetMs = hour - 59_000;
  let second: string | undefined;
  server.rules.onToken = async () => {
    server.rules.onToken = undefined;
    await app.callback(server.consent(await app.begin()));
    second = (await grantOf(app.store)).record.tokens?.refreshToken;
    return { status: 400, body: { error: "invalid_grant" } };
  };
  await app.getToken();
  expect(second).toBeDefined();
  expect((await grantOf(app.store)).record.tokens?.refreshToken).toBe(second);
});
