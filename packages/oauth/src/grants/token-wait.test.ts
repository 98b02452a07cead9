import { expect, test } from "vitest";
import { errorOf } from "../../test/application.ts";
import { changeGrant, signedIn, unencrypted } from "../../test/signed-in.ts";

const hour = 3_600_000;

test("waits for a dead holder of the lease no longer than for a request, and says for what", async () => {
  const { server, clock, app } = await signedIn({}, { keys: unencrypted, timeoutMs: 500 });
  clock.offsetMs = hour;
  await changeGrant(app.store, { lease: { token: "of-another", until: clock.now() + 1_500 } });
  const { code, message, data } = await errorOf(app.getToken());
  expect(code).toBe("CONNECTION_UNAVAILABLE");
  expect(message).toContain("no token came within 500 ms");
  expect(message).toContain("this one was not carried out");
  expect(data.reason).toBe("refresh-under-way");
  expect(server.refreshes()).toEqual([]);
});

test("goes on with a token that works, while the authorization server is silent", async () => {
  const { server, clock, app, token } = await signedIn({}, { timeoutMs: 2_000 });
  clock.offsetMs = hour - 59_000;
  server.rules.onToken = () => new Promise(() => {});
  expect((await app.getToken())?.token).toBe(token);
  expect(server.refreshes()).toHaveLength(1);
  // The request is not over.
  expect(app.eventsOf("refresh-failed")).toEqual([]);
});

test("needs a sign-in where a token is revoked between its refresh and the second request", async () => {
  const { server, app, token } = await signedIn();
  const sent: (string | null)[] = [];
  const { fetch } = app.oauth.connect({
    ...app.use,
    fetch: async (_input, init) => {
      sent.push(new Headers(init?.headers).get("authorization"));
      // The user takes the grant back while the second request is on its way.
      if (sent.length === 2) server.revokeAll();
      return new Response("no", { status: 401, headers: { "www-authenticate": "Bearer" } });
    },
  });
  const { code } = await errorOf(fetch(server.url, { method: "POST", body: "{}" }));
  expect(code).toBe("AUTHORIZATION_REQUIRED");
  expect(sent).toHaveLength(2);
  expect(sent[0]).toBe(`Bearer ${token}`);
});

test("gives the second refusal where the authorization server is away by then", async () => {
  const { server, app } = await signedIn();
  let sent = 0;
  const { fetch } = app.oauth.connect({
    ...app.use,
    fetch: async () => {
      sent += 1;
      if (sent === 2) server.rules.onToken = () => ({ status: 429, body: {} });
      return new Response("no", { status: 401, headers: { "www-authenticate": "Bearer" } });
    },
  });
  // It was sent: an error that says otherwise would be wrong.
  expect((await fetch(server.url, { method: "POST", body: "{}" })).status).toBe(401);
  expect(sent).toBe(2);
});
