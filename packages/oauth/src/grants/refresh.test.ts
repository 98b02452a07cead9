import { expect, test } from "vitest";
import { ada, createClock, errorOf } from "../../test/application.ts";
import { changeGrant, grantOf, signedIn, unencrypted } from "../../test/signed-in.ts";

const hour = 3_600_000;

/** As a process that ended before it asked, or, half a minute ago, while it did. */
const ended = (until = 0) => ({ lease: { token: "of-another", until } });
const endedAsking = (now: number) => ({
  ...ended(now - 500),
  unanswered: { count: 1, since: now - 30_500, reason: "process-ended" as const },
});

/** A server that is away, and says so. */
const away = { status: 503, body: "down", headers: { "retry-after": "1" } } as const;

test("refreshes once for all callers of processes that share a store, with the resource in the request", async () => {
  const { server, clock, app, token } = await signedIn();
  clock.offsetMs = hour;
  server.rules.onToken = async (_request, usual) => {
    await new Promise((resolve) => setTimeout(resolve, 300));
    return usual();
  };
  const other = app.next();
  const callers = Array.from({ length: 20 }, (_, each) => (each % 2 ? app : other));
  const tokens = await Promise.all(callers.map((each) => each.getToken()));
  expect(new Set(tokens.map((each) => each?.token)).size).toBe(1);
  expect(tokens[0]!.token).not.toBe(token);
  expect(server.accepts(tokens[0]?.token)).toBe(true);
  expect(server.refreshes().map(({ parameters }) => parameters.get("resource"))).toEqual([
    server.url,
  ]);
  expect([...app.eventsOf("refreshed"), ...other.eventsOf("refreshed")]).toEqual([
    { type: "refreshed", connection: "notes" },
  ]);
});

test("gives a token that another process has refreshed, in place of a refused one", async () => {
  const { server, app, token } = await signedIn();
  const other = app.next();
  const refused = { status: 401, token } as const;
  const fresh = await other.getToken({ refused });
  expect(await app.getToken({ refused })).toEqual(fresh);
  expect(server.refreshes()).toHaveLength(1);
});

test("does not refresh for a token that nobody refused", async () => {
  const { server, app, token } = await signedIn();
  expect((await app.getToken())?.token).toBe(token);
  expect((await app.getToken({ refused: { status: 401, token: "older" } }))?.token).toBe(token);
  expect((await app.getToken({ refused: { status: 401 } }))?.token).toBe(token);
  expect(server.refreshes()).toHaveLength(0);
});

test("has saved the rotated tokens before it gives them", async () => {
  const { clock, app, server } = await signedIn({}, { keys: unencrypted });
  clock.offsetMs = hour;
  const before = (await grantOf(app.store)).record;
  const fresh = await app.getToken();
  const { record } = await grantOf(app.store);
  expect(record.tokens?.accessToken).toBe(fresh?.token);
  expect(record.tokens?.refreshToken).not.toBe(before.tokens?.refreshToken);
  expect(record).toMatchObject({ generation: before.generation + 1 });
  expect(record.lease).toBeUndefined();
  expect(server.accepts(record.tokens?.accessToken)).toBe(true);
});

test("keeps the refresh token of a server that does not rotate, and the scopes that it does not repeat", async () => {
  const { clock, app } = await signedIn(
    { rotates: false, grants: "notes:read" },
    { keys: unencrypted },
  );
  const before = (await grantOf(app.store)).record.tokens!;
  clock.offsetMs = hour;
  await app.getToken();
  const { refreshToken, scopes, signedInAt } = (await grantOf(app.store)).record.tokens!;
  expect({ refreshToken, scopes, signedInAt }).toEqual({
    refreshToken: before.refreshToken,
    scopes: ["notes:read"],
    signedInAt: before.signedInAt,
  });
});

test.each([
  ["429", { status: 429, body: { error: "slow_down" } }],
  ["503", away],
  ["500 with the words of a refusal", { status: 500, body: { error: "invalid_grant" } }],
] as const)(
  "keeps the tokens after %s, and does not let all ask at once",
  async (_name, answer) => {
    const { server, clock, app } = await signedIn();
    clock.stoppedAt = Date.now();
    clock.offsetMs = hour;
    server.rules.onToken = () => answer;
    const failures = await Promise.all(
      Array.from({ length: 10 }, async () => await errorOf(app.getToken())),
    );
    for (const { code, message } of failures) {
      expect(code).toBe("CONNECTION_UNAVAILABLE");
      expect(message).toContain("The user stays signed in");
    }
    expect(server.refreshes()).toHaveLength(1);
    expect(app.eventsOf("refresh-failed")).toHaveLength(1);
    expect(await app.oauth.authorizationFor(app.use)).toBeUndefined();

    // In the pause, other processes do not ask either.
    await errorOf(app.next().getToken());
    expect(server.refreshes()).toHaveLength(1);
    clock.offsetMs += 1_500;
    server.rules.onToken = undefined;
    expect(server.accepts((await app.getToken())?.token)).toBe(true);
  },
);

test("does not count a holder that was told of a failure among those that ended", async () => {
  const { server, clock, app } = await signedIn();
  clock.offsetMs = hour;
  server.rules.onToken = () => away;
  for (let each = 0; each < 4; each += 1) {
    expect((await errorOf(app.getToken())).code).toBe("CONNECTION_UNAVAILABLE");
    clock.offsetMs += 1_500;
  }
  server.rules.onToken = undefined;
  expect(server.accepts((await app.getToken())?.token)).toBe(true);
  expect(server.refreshes()).toHaveLength(5);
});

test("asks for a sign-in after invalid_grant, once for all", async () => {
  const { server, clock, app } = await signedIn({ grants: "notes:read" });
  clock.offsetMs = hour;
  server.revokeAll();
  const failures = await Promise.all(
    Array.from({ length: 5 }, async () => await errorOf(app.getToken())),
  );
  for (const { code, data } of failures) {
    expect(code).toBe("AUTHORIZATION_REQUIRED");
    expect(data).toMatchObject({
      connection: "notes",
      origin: server.origin,
      reason: "authorization-required",
      scopes: ["notes:read"],
    });
  }
  expect(server.refreshes()).toHaveLength(1);
  expect(app.eventsOf("refresh-refused")).toHaveLength(1);
  expect(app.eventsOf("authorization-required")).toHaveLength(1);
  expect(await app.oauth.authorizationFor(app.use)).toMatchObject({ scopes: ["notes:read"] });
  expect(await app.oauth.list({ principal: ada })).toEqual([]);
});

test("asks for a sign-in after a process has ended while it asked, and says so", async () => {
  const { server, clock, app } = await signedIn({}, { keys: unencrypted });
  clock.offsetMs = hour;
  await changeGrant(app.store, endedAsking(clock.now()));
  const { code, message } = await errorOf(app.getToken());
  expect(code).toBe("AUTHORIZATION_REQUIRED");
  expect(message).toContain("The tokens of the last sign-in were lost");
  expect(server.refreshes()).toHaveLength(0);
  expect(app.eventsOf("refresh-lost")).toHaveLength(1);
  expect((await errorOf(app.getToken())).message).toContain("were lost");
});

test("uses a token to its end, after a process has ended while it asked for another", async () => {
  const { server, clock, app, token } = await signedIn({}, { keys: unencrypted });
  clock.offsetMs = hour - 30_000;
  await changeGrant(app.store, endedAsking(clock.now()));
  expect((await app.getToken())?.token).toBe(token);
  expect((await app.getToken())?.token).toBe(token);
  expect(server.refreshes()).toHaveLength(0);
  expect(app.eventsOf("refresh-lost")).toHaveLength(1);
});

test("waits for the holder of the lease, also with another clock", async () => {
  const { server, app, token } = await signedIn({}, { keys: unencrypted, timeoutMs: 10_000 });
  await changeGrant(app.store, ended(Date.now() + 30_000));
  const ahead = app.next({ now: createClock(15_000).now });
  const refused = { status: 401, token } as const;
  const waiting = Promise.all([app.getToken({ refused }), ahead.getToken({ refused })]);
  await new Promise((resolve) => setTimeout(resolve, 500));
  expect(server.refreshes()).toHaveLength(0);
  await changeGrant(app.store, ended());
  const [first, second] = await waiting;
  expect(first).toEqual(second);
  expect(server.refreshes()).toHaveLength(1);
});

test("stops to wait with its caller", async () => {
  const { app, token } = await signedIn({}, { keys: unencrypted });
  await changeGrant(app.store, ended(Date.now() + 30_000));
  const abort = new AbortController();
  const waiting = app.getToken({ refused: { status: 401, token }, abortSignal: abort.signal });
  abort.abort(new Error("The step is over."));
  await expect(waiting).rejects.toThrow("The step is over.");
});

test("saves the answer to a caller that has left", async () => {
  const { server, clock, app } = await signedIn();
  clock.offsetMs = hour;
  const abort = new AbortController();
  server.rules.onToken = (_request, usual) => {
    abort.abort();
    return usual();
  };
  await app.getToken({ abortSignal: abort.signal }).catch(() => undefined);
  expect(server.accepts((await app.next().getToken())?.token)).toBe(true);
  expect(server.refreshes()).toHaveLength(1);
});

test("sends a token to its end if the clock is behind, and another after the refusal", async () => {
  const { server, clock, app, token } = await signedIn();
  clock.offsetMs = -hour;
  expect((await app.getToken())?.token).toBe(token);
  const fresh = await app.getToken({ refused: { status: 401, token } });
  expect(fresh?.token).not.toBe(token);
  expect(server.refreshes()).toHaveLength(1);
});

test("never refreshes a token without a known end, until it is refused", async () => {
  const { server, clock, app, token } = await signedIn({ accessTokenSeconds: undefined });
  clock.offsetMs = 1_000 * hour;
  expect(await app.getToken()).toEqual({ token });
  expect(server.refreshes()).toHaveLength(0);
  expect((await app.getToken({ refused: { status: 401, token } }))?.token).not.toBe(token);
});

test("refreshes before the end, once, while all others use the old token", async () => {
  const { server, clock, app, token } = await signedIn();
  clock.offsetMs = hour - 130_000;
  expect((await app.getToken())?.token).toBe(token);
  expect(server.refreshes()).toHaveLength(0);

  clock.offsetMs = hour - 59_000;
  const { promise: held, resolve: release } = Promise.withResolvers<void>();
  server.rules.onToken = async (_request, usual) => {
    await held;
    return usual();
  };
  const first = app.getToken();
  await expect.poll(() => server.refreshes().length).toBe(1);
  const others = await Promise.all([app, app.next(), app].map((each) => each.getToken()));
  expect(others.map((each) => each?.token)).toEqual([token, token, token]);
  release();
  const fresh = await first;
  expect(fresh?.token).not.toBe(token);
  expect(await app.getToken()).toEqual(fresh);
  expect(server.refreshes()).toHaveLength(1);
});

test("refreshes at different times in different processes", async () => {
  const { clock, app, server } = await signedIn();
  server.rules.onToken = () => away;
  clock.offsetMs = hour - 90_000;
  const times = new Set<number>();
  for (let each = 0; each < 40; each += 1) {
    const before = server.refreshes().length;
    await app.getToken();
    times.add(server.refreshes().length - before);
    if (times.size === 2) break;
  }
  expect(times).toEqual(new Set([0, 1]));
});

test.each([
  ["a failure", away],
  ["invalid_grant", { status: 400, body: { error: "invalid_grant" } }],
] as const)("gives the old token after %s of an early refresh", async (name, answer) => {
  const { server, clock, app, token } = await signedIn();
  clock.stoppedAt = Date.now();
  clock.offsetMs = hour - 59_000;
  server.rules.onToken = () => answer;
  expect((await app.getToken())?.token).toBe(token);
  expect((await app.getToken())?.token).toBe(token);
  expect(server.refreshes()).toHaveLength(1);
  expect(await app.oauth.authorizationFor(app.use)).toBeUndefined();
  clock.offsetMs = hour;
  const { code } = await errorOf(app.getToken());
  expect(code).toBe(name === "invalid_grant" ? "AUTHORIZATION_REQUIRED" : "CONNECTION_UNAVAILABLE");
});

test("asks for a sign-in where there is no refresh token, at the end of the access token", async () => {
  const { server, clock, app, token } = await signedIn({
    onToken: (_request, usual) => {
      const answer = usual();
      if (answer === "cut") return answer;
      const { refresh_token: _, ...body } = answer.body as Record<string, unknown>;
      return { ...answer, body };
    },
  });
  clock.offsetMs = hour - 30_000;
  expect((await app.getToken())?.token).toBe(token);
  clock.offsetMs = hour;
  expect((await errorOf(app.getToken())).code).toBe("AUTHORIZATION_REQUIRED");
  expect(server.refreshes()).toHaveLength(0);
});

test("takes over from a holder whose clock is far ahead", async () => {
  const { server, app, token } = await signedIn({}, { keys: unencrypted, timeoutMs: 200 });
  await changeGrant(app.store, ended(Date.now() + 24 * hour));
  const fresh = await app.getToken({ refused: { status: 401, token } });
  expect(server.accepts(fresh?.token)).toBe(true);
  expect(server.refreshes()).toHaveLength(1);
});

test("leaves the grant alone when a slower process brings tokens of it, too", async () => {
  const { server, clock, app } = await signedIn({ rotates: false });
  clock.offsetMs = hour;
  // It shows that the server does not rotate.
  await app.getToken();
  clock.offsetMs = 2 * hour;
  const { promise: held, resolve: release } = Promise.withResolvers<void>();
  server.rules.onToken = async (_request, usual) => {
    server.rules.onToken = undefined;
    await held;
    return usual();
  };
  const slow = app.getToken();
  await expect.poll(() => server.refreshes().length).toBe(2);
  const next = app.next({ now: createClock(2 * hour + 25_000).now }); // past the lease
  const fresh = await next.getToken();
  release();
  expect(await slow).toEqual(fresh);
  expect(server.revoked).toEqual([]);
  expect(server.accepts(fresh?.token)).toBe(true);
  expect([...app.eventsOf("refreshed"), ...next.eventsOf("refreshed")]).toHaveLength(2);
});

test("asks for a sign-in where the server has moved to another authorization server", async () => {
  const { server, app, token } = await signedIn();
  server.rules.resourceMetadata = { authorization_servers: ["https://login.test"] };
  const error = await errorOf(app.getToken({ refused: { status: 401, token } }));
  expect(error.code).toBe("AUTHORIZATION_REQUIRED");
  // The old one would give tokens for ever that the server refuses.
  expect(server.refreshes()).toEqual([]);
});

test.each([
  ["says nothing of it", { authorization_servers: undefined }],
  ["names the same in other letters", { authorization_servers: ["HTTP://127.0.0.1"] }],
])("refreshes a refused token where the server's metadata %s", async (_, changes) => {
  const { server, app, token } = await signedIn();
  const { authorization_servers: named } = changes;
  server.rules.resourceMetadata = {
    authorization_servers: named && [server.origin.replace("http://127.0.0.1", named[0]!)],
  };
  expect((await app.getToken({ refused: { status: 401, token } }))?.token).not.toBe(token);
  expect(server.refreshes()).toHaveLength(1);
});
