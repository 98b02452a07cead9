import { createMemoryStore, type SessionStore } from "@durable-mcp/core";
import { expect, test, vi } from "vitest";
import { ada, ben, contentOf, createApplication, errorOf } from "../../test/application.ts";
import { type HandMadeServer, startHandMadeServer } from "../../test/hand-made-server.ts";
import { changeGrant, grantOf, signedIn } from "../../test/signed-in.ts";
import { createOAuth } from "../create-oauth.ts";

const randomKey = () => crypto.getRandomValues(new Uint8Array(32));

/** Two users who have signed in at two servers, and the first begins another sign-in. */
async function filled() {
  const [server, other] = [await startHandMadeServer(), await startHandMadeServer()];
  const store = createMemoryStore();
  const app = createApplication({ url: server.url, store });
  for (const [at, principal] of [
    [server, ada],
    [other, ada],
    [server, ben],
  ] as const) {
    const authorizationUrl = await app.begin({ principal, url: at.url });
    await app.callback(at.consent(authorizationUrl), principal);
  }
  const pending = server.consent(await app.begin());
  const mine = (await app.getToken())!.token;
  return { server, other, store, app, pending, mine };
}

/** Puts the value of one record in the place of another's. */
async function move(store: SessionStore, from: string, to: string) {
  const all = await contentOf(store);
  const [source, target] = [from, to].map((name) => all.find(({ key }) => key.includes(name))!);
  const { key, owner, revision } = target!;
  expect(source!.key).not.toBe(key);
  await store.put(key, source!.value, revision, { owner });
}

const grantsOf = async (store: SessionStore, name: string) =>
  (await contentOf(store)).filter(({ key }) => key.includes("/grant/") && key.includes(name));

const unreadable = [{ type: "unreadable", reason: "other-key" }];

const issued = (server: HandMadeServer, token: string | undefined) =>
  token !== undefined && server.accepts(token);

test.each([
  "another user's grant",
  "a grant at another server",
  "a sign-in under way",
  "a registration",
])("takes %s in the place of a grant for none", async (name) => {
  const { server, store, app, mine } = await filled();
  const grants = await grantsOf(store, "ada");
  const ofOther = (await grantsOf(store, "ben"))[0]!.key;
  const [here, there] = grants.map(({ key }) => key) as [string, string];
  const from = {
    "another user's grant": ofOther,
    "a grant at another server": there,
    "a sign-in under way": "/sign-in/",
    "a registration": "/client/",
  }[name]!;
  expect(await app.getToken()).toMatchObject({ token: mine });
  await move(store, from, here);
  expect(await app.getToken()).toBeUndefined();
  expect(app.eventsOf("unreadable")).toEqual(unreadable);
  expect(await app.oauth.list({ principal: ada })).toHaveLength(1);
  // The user can sign in again in its place.
  await app.callback(server.consent(await app.begin()));
  expect(issued(server, (await app.getToken())?.token)).toBe(true);
});

test("takes a moved sign-in for an unknown one, and a moved registration for none", async () => {
  const { server, other, store, app, pending } = await filled();
  await move(store, "/grant/", "/sign-in/");
  expect((await app.callback(pending)).status).toBe(403);
  expect(app.eventsOf("sign-in-refused")).toMatchObject([{ reason: "unknown" }]);
  const [first, second] = (await contentOf(store)).filter(({ key }) => key.includes("/client/"));
  await store.put(first!.key, second!.value, first!.revision, { owner: first!.owner });
  await app.begin();
  expect(server.registrations).toHaveLength(2);
  expect(other.registrations).toHaveLength(1);
  expect(app.eventsOf("unreadable").length).toBeGreaterThan(1);
});

test("takes a changed value for none", async () => {
  const { store, app } = await filled();
  const [{ key, owner, revision, value }] = (await grantsOf(store, "ben")) as [
    Awaited<ReturnType<typeof contentOf>>[0],
  ];
  const parts = (value as string).split(".");
  parts[3] = `${parts[3]!.startsWith("A") ? "B" : "A"}${parts[3]!.slice(1)}`;
  await store.put(key, parts.join("."), revision, { owner });
  expect(await app.getToken({ principal: ben })).toBeUndefined();
  expect(app.eventsOf("unreadable")).toEqual([{ type: "unreadable", reason: "tampered" }]);
});

test("opens with the former key, seals with the new one, and knows nothing without them", async () => {
  const [first, second] = [randomKey(), randomKey()];
  const server = await startHandMadeServer();
  const app = createApplication({ url: server.url, keys: { current: first } });
  const begun = server.consent(await app.begin());
  await app.callback(server.consent(await app.begin()));
  const { token } = (await app.getToken())!;

  const rotated = app.next({ keys: { current: second, previous: first } });
  expect((await rotated.getToken())?.token).toBe(token);
  const fresh = await rotated.getToken({ refused: { status: 401, token } });
  expect((await rotated.callback(begun)).status).toBe(200);
  const last = await rotated.getToken();
  expect(last).not.toEqual(fresh);

  const later = app.next({ keys: { current: second } });
  expect(await later.getToken()).toEqual(last);
  const lost = app.next({ keys: { current: randomKey() } });
  expect(await lost.getToken()).toBeUndefined();
  expect((await errorOf(lost.getToken({ refused: { status: 401 } }))).code).toBe(
    "AUTHORIZATION_REQUIRED",
  );
  expect(lost.eventsOf("unreadable")[0]).toEqual({ type: "unreadable", reason: "unknown-key" });
  await lost.callback(server.consent(await lost.begin()));
  expect(server.accepts((await lost.getToken())?.token)).toBe(true);
});

test("warns once on the console where nobody hears events", async () => {
  const { server, store, app } = await filled();
  const warn = vi.spyOn(console, "warn").mockImplementation(() => undefined);
  const keys = { current: randomKey() };
  const oauth = createOAuth({ store, keys, redirectUrl: "https://app.example/callback" });
  await oauth.getToken({ ...app.use, url: server.url });
  await oauth.list({ principal: ben });
  const said = warn.mock.calls.map(([text]) => String(text)).filter((text) => /sign-in/.test(text));
  warn.mockRestore();
  expect(said.length).toBeLessThanOrEqual(1);
  expect(said.join()).toContain("(unknown-key)");
});

test("keeps tokens readable only where the application says so", async () => {
  const server = await startHandMadeServer();
  const sealed = createApplication({ url: server.url });
  const open = createApplication({ url: server.url, keys: "store tokens unencrypted" });
  for (const app of [sealed, open]) await app.callback(server.consent(await app.begin()));
  const holds = async (app: typeof sealed) => {
    const { token } = (await app.getToken())!;
    return JSON.stringify(await contentOf(app.store)).includes(token);
  };
  expect([await holds(sealed), await holds(open)]).toEqual([false, true]);
});

test("takes a record of another format for none", async () => {
  const server = await startHandMadeServer();
  const app = createApplication({ url: server.url, keys: "store tokens unencrypted" });
  await app.callback(server.consent(await app.begin()));
  const [{ key, owner, revision, value }] = (await grantsOf(app.store, "ada")) as [
    Awaited<ReturnType<typeof contentOf>>[0],
  ];
  await app.store.put(key, { ...(value as object), version: 2 }, revision, { owner });
  expect(await app.getToken()).toBeUndefined();
  expect(await app.oauth.list({ principal: ada })).toEqual([]);
  await app.callback(server.consent(await app.begin()));
  expect(await app.getToken()).toBeDefined();
});

test("keeps the fields of later releases", async () => {
  const { app, token, server } = await signedIn({}, { keys: "store tokens unencrypted" });
  const later = { later: { by: "another release" } };
  await changeGrant(app.store, later as object);
  expect((await app.getToken())?.token).toBe(token);
  const fresh = await app.getToken({ refused: { status: 401, token } });
  expect(server.accepts(fresh?.token)).toBe(true);
  expect((await grantOf(app.store)).record).toMatchObject(later);
});

test("the end of an account deletes what cannot be opened, too", async () => {
  const { store, app } = await filled();
  const lost = app.next({ keys: { current: randomKey() } });
  expect(await lost.oauth.signOut({ principal: ada, connection: "notes" })).toEqual([]);
  expect(await grantsOf(store, "ada")).toHaveLength(2);
  expect(await lost.oauth.deleteAll({ principal: ada })).toEqual([]);
  expect(await grantsOf(store, "ada")).toEqual([]);
  expect(await app.getToken({ principal: ben })).toBeDefined();
});
