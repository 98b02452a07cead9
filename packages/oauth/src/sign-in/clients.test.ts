import { createMemoryStore } from "@durable-mcp/core";
import { expect, test } from "vitest";
import { ada, contentOf, createApplication, createClock, errorOf } from "../../test/application.ts";
import { startHandMadeServer } from "../../test/hand-made-server.ts";
import { signedIn, unencrypted } from "../../test/signed-in.ts";

const clientOf = (authorizationUrl: string) =>
  new URL(authorizationUrl).searchParams.get("client_id");
const clientMetadataUrl = "https://app.example/oauth/client.json";

test("is the client of its metadata document first, where the server takes one", async () => {
  const server = await startHandMadeServer({
    metadata: { client_id_metadata_document_supported: true },
  });
  const clients = [{ issuer: server.issuer, clientId: "by-hand" }];
  const app = createApplication({ url: server.url, clientMetadataUrl, clients });
  const authorizationUrl = await app.begin();
  expect(clientOf(authorizationUrl)).toBe(clientMetadataUrl);
  await app.callback(server.consent(authorizationUrl));
  const [{ parameters, authorization } = server.tokenRequests[0]!] = server.tokenRequests;
  expect(parameters.get("client_id")).toBe(clientMetadataUrl);
  expect(authorization).toBeUndefined();
  expect(server.registrations).toEqual([]);

  server.rules.metadata = {};
  expect(clientOf(await app.begin())).toBe("by-hand");
});

test("is the client of a registration by hand for exactly its issuer", async () => {
  const server = await startHandMadeServer({
    metadata: { token_endpoint_auth_methods_supported: ["client_secret_basic"] },
  });
  const byHand = {
    ...{ clientId: "by-hand_1", clientSecret: "secret-of_hand." },
    authorizationParameters: { access_type: "offline" },
  };
  const app = createApplication({
    url: server.url,
    clientMetadataUrl,
    clients: [
      { issuer: `${server.issuer}/`, clientId: "of-another" },
      { issuer: server.issuer, ...byHand },
    ],
  });
  const authorizationUrl = await app.begin();
  expect(clientOf(authorizationUrl)).toBe("by-hand_1");
  expect(new URL(authorizationUrl).searchParams.get("access_type")).toBe("offline");
  await app.callback(server.consent(authorizationUrl));
  expect(server.tokenRequests[0]!.authorization).toBe(
    `Basic ${btoa(`${byHand.clientId}:${byHand.clientSecret}`)}`,
  );
  expect(server.registrations).toEqual([]);
});

test("registers itself once, for all sign-ins that begin at once", async () => {
  const server = await startHandMadeServer({ secretSeconds: 3_600 });
  const app = createApplication({ url: server.url, clientName: "Notes" });
  const other = app.next();
  const begun = await Promise.all(
    Array.from({ length: 10 }, async (_, index) => await (index % 2 ? app : other).begin()),
  );
  expect(new Set(begun.map(clientOf))).toEqual(new Set(["client-1"]));
  expect(server.registrations).toMatchObject([
    { client_name: "Notes", redirect_uris: ["http://127.0.0.1:3999/oauth/callback"] },
  ]);
  expect([...app.eventsOf("registered"), ...other.eventsOf("registered")]).toEqual([
    { type: "registered", issuer: server.issuer },
  ]);
  await app.callback(server.consent(begun[0]!));
  const { parameters } = server.tokenRequests[0]!;
  expect(server.secrets).toContain(parameters.get("client_secret"));
});

test("registers again where its secret has expired, and asks for a sign-in then", async () => {
  const { server, clock, app } = await signedIn({ secretSeconds: 1_800 });
  clock.offsetMs = 3_600_000;
  expect((await errorOf(app.getToken())).code).toBe("AUTHORIZATION_REQUIRED");
  expect(server.refreshes()).toEqual([]);
  server.rules.secretSeconds = 7_200;
  const authorizationUrl = await app.begin();
  expect(clientOf(authorizationUrl)).toBe("client-2");
  await app.callback(server.consent(authorizationUrl));
  expect(await app.getToken()).toBeDefined();
});

test.each(["a refresh", "a code"])("forgets a registration that is refused at %s", async (at) => {
  const { server, clock, app } = await signedIn();
  const callback = server.consent(await app.begin());
  server.rules.onToken = () => ({ status: 401, body: { error: "invalid_client" } });
  if (at === "a refresh") clock.offsetMs = 3_600_000;
  const refused = at === "a refresh" ? errorOf(app.getToken()) : app.callback(callback);
  expect(await refused).toMatchObject(
    at === "a refresh" ? { code: "AUTHORIZATION_REQUIRED" } : { status: 502 },
  );
  server.rules.onToken = undefined;
  const authorizationUrl = await app.begin();
  expect(clientOf(authorizationUrl)).toBe("client-2");
  await app.callback(server.consent(authorizationUrl));
  expect(server.accepts((await app.getToken())?.token)).toBe(true);
});

test("registers at the other authorization server that a resource has changed to", async () => {
  const { server, clock, app } = await signedIn();
  const next = await startHandMadeServer();
  next.rules.onToken = ({ parameters }, usual) => {
    parameters.set("resource", parameters.get("resource")!.replace(server.origin, next.origin));
    return usual();
  };
  server.rules.resourceMetadata = { authorization_servers: [next.issuer] };
  clock.offsetMs = 3_600_000;
  server.revokeAll();
  expect((await errorOf(app.getToken())).code).toBe("AUTHORIZATION_REQUIRED");
  await app.callback(next.consent(await app.begin()));
  expect(next.registrations).toHaveLength(1);
  expect(await app.oauth.list({ principal: ada })).toMatchObject([{ issuer: next.issuer }]);
  clock.offsetMs *= 2;
  await app.getToken();
  expect(next.refreshes()).toHaveLength(1);
});

test("registers for each of its callbacks", async () => {
  const { server, app } = await signedIn();
  const other = app.next({ redirectUrl: "https://app.example/other/callback" });
  expect(clientOf(await other.begin())).toBe("client-2");
  expect(clientOf(await app.begin())).toBe("client-1");
  expect(server.registrations).toHaveLength(2);
});

test("refreshes and revokes as the client of the sign-in, where the callback is another one by now", async () => {
  const { server, clock, app } = await signedIn();
  const moved = app.next({ redirectUrl: "https://app.example/moved/callback" });
  clock.offsetMs = 3_600_000;
  expect(server.accepts((await moved.getToken())?.token)).toBe(true);
  clock.offsetMs *= 2;
  expect(server.accepts((await moved.getToken())?.token)).toBe(true);
  expect(server.tokenRequests.map(({ parameters }) => parameters.get("client_id"))).toEqual(
    Array(3).fill("client-1"),
  );
  const use = { principal: ada, connection: "notes" };
  expect(await moved.oauth.signOut(use)).toMatchObject([{ isRevoked: true }]);
  expect(server.registrations).toHaveLength(1);
});

test("tries again at once after a registration has failed", async () => {
  const server = await startHandMadeServer();
  const app = createApplication({ url: server.url });
  server.rules.onRequest = (request, response) =>
    request.url === "/register" && !!response.writeHead(500).end();
  await expect(app.begin()).rejects.toThrow("could not begin");
  expect(await contentOf(app.store)).toEqual([]);
  server.rules.onRequest = undefined;
  expect(clientOf(await app.next().begin())).toBe("client-1");
});

test("waits for a process that registers, and takes over from one that has ended", async () => {
  const server = await startHandMadeServer();
  const store = createMemoryStore();
  const first = createApplication({ url: server.url, store, keys: unencrypted });
  await first.begin();
  const { key, owner, revision } = (await contentOf(store)).find((each) =>
    each.key.includes("oauth/client/"),
  )!;
  const lease = { token: "of-another", until: Date.now() + 2_000 };
  await store.put(key, { version: 1, issuer: server.issuer, lease }, revision, { owner });
  const waiting = first.begin();
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(server.registrations).toHaveLength(1);
  const later = first.next({ now: createClock(3_000).now });
  expect(clientOf(await later.begin())).toBe("client-2");
  expect(clientOf(await waiting)).toBe("client-2");
});

test("takes over from a process whose clock was far ahead", async () => {
  const server = await startHandMadeServer();
  const app = createApplication({ url: server.url, keys: unencrypted, timeoutMs: 300 });
  await app.begin();
  const stored = await contentOf(app.store);
  const { key, owner, revision } = stored.find((each) => each.key.includes("oauth/client/"))!;
  const lease = { token: "of-another", until: Date.now() + 3_600_000 };
  await app.store.put(key, { version: 1, issuer: server.issuer, lease }, revision, { owner });
  expect(clientOf(await app.begin())).toBe("client-2");
});
