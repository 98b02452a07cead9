import { createMemoryStore } from "@durable-mcp/core";
import { describe, expect, test } from "vitest";
import {
  ada,
  createApplication,
  createClock,
  errorOf,
  redirectUrl,
} from "../../test/application.ts";
import { type GatewayFault, startGateway } from "../../test/gateway.ts";
import { startProtectedServer } from "../../test/protected-server.ts";
import { signInByHand } from "../../test/scripted-user.ts";
import { changeGrant, grantOf, signedIn, unencrypted } from "../../test/signed-in.ts";
import { startAuthorizationServer } from "../../test/start-authorization-server.ts";

const hour = 3_600_000;

/** A user who is signed in at a real server behind a gateway, and a clock. */
async function behindGateway(options: { timeoutMs?: number } = {}) {
  const gateway = await startGateway();
  const { issuer } = await startAuthorizationServer({ gateway });
  const { url } = await startProtectedServer([issuer], ["notes:read"]);
  const clock = createClock();
  const store = createMemoryStore();
  const app = createApplication({ url: url.href, store, now: clock.now, ...options });
  await app.callback(await signInByHand(new URL(await app.begin()), redirectUrl));
  const { token } = (await app.getToken())!;
  return { gateway, clock, app, token };
}

const faults: readonly [GatewayFault, reason: string][] = [
  ["504", "gateway"],
  ["502 page", "gateway"],
  ["200 page", "gateway"],
  ["reset", "connection-broken"],
  ["silence", "timeout"],
];

describe.each(faults)(
  "a refresh that is answered with %s after it was carried out",
  (fault, reason) => {
    test("is asked for once more at once, and then counts as lost", async () => {
      const { gateway, clock, app } = await behindGateway({ timeoutMs: 500 });
      clock.offsetMs = hour;
      gateway.break(fault);
      const { code, message } = await errorOf(app.getToken());
      expect(code).toBe("AUTHORIZATION_REQUIRED");
      expect(message).toContain("The tokens of the last sign-in were lost");
      expect(gateway.refreshes()).toHaveLength(2);
      expect(app.eventsOf("refresh-lost")).toEqual([
        { type: "refresh-lost", connection: "notes", reason },
      ]);
      expect(app.eventsOf("refresh-refused")).toEqual([]);
    });

    test("leaves the old token, if that still works, to its end", async () => {
      const { gateway, clock, app, token } = await behindGateway({ timeoutMs: 500 });
      clock.offsetMs = hour - 59_000;
      gateway.break(fault);
      expect((await app.getToken())?.token).toBe(token);
      await expect.poll(() => app.eventsOf("refresh-lost")).toMatchObject([{ reason }]);
      gateway.break(undefined);
      clock.offsetMs = hour - 30_000;
      expect((await app.next().getToken())?.token).toBe(token);
      expect(await app.oauth.authorizationFor(app.use)).toBeUndefined();
      clock.offsetMs = hour;
      const { code, message } = await errorOf(app.getToken());
      expect(code).toBe("AUTHORIZATION_REQUIRED");
      expect(message).toContain("The tokens of the last sign-in were lost");
      expect(gateway.refreshes()).toHaveLength(2);
      expect(app.eventsOf("refresh-lost")).toHaveLength(1);
    });
  },
);

test("gets the tokens of a server that gives them once more for some seconds", async () => {
  const { server, clock, app } = await signedIn();
  clock.offsetMs = hour;
  const answers: unknown[] = [];
  server.rules.onToken = (_request, usual) => {
    if (answers.length > 0) return answers[0] as ReturnType<typeof usual>;
    answers.push(usual());
    return "cut";
  };
  expect(server.accepts((await app.getToken())?.token)).toBe(true);
  expect(server.refreshes()).toHaveLength(2);
  expect(app.eventsOf("refresh-lost")).toEqual([]);
});

const unanswered = (count: number, since: number) => ({
  unanswered: { count, since, reason: "timeout" as const },
});

test.each([
  ["ten seconds after the first try", () => unanswered(1, Date.now() + hour - 11_000)],
  ["after the second one", () => unanswered(2, Date.now() + hour)],
])("sends no refresh token %s, in any process", async (_name, state) => {
  const { server, clock, app } = await signedIn({}, { keys: unencrypted });
  clock.offsetMs = hour;
  await changeGrant(app.store, state());
  const all = await Promise.all(
    [app, app.next(), app.next()].map((each) => errorOf(each.getToken())),
  );
  expect(all.map(({ code }) => code)).toEqual(Array(3).fill("AUTHORIZATION_REQUIRED"));
  expect(server.refreshes()).toEqual([]);
});

test("asks a server that does not rotate as often as it takes", async () => {
  const { server, clock, app } = await signedIn({ rotates: false });
  clock.offsetMs = hour;
  const first = await app.getToken();
  clock.offsetMs = 2 * hour;
  for (let each = 0; each < 4; each += 1) {
    server.rules.onToken = () => "cut";
    expect((await errorOf(app.getToken())).code).toBe("CONNECTION_UNAVAILABLE");
    clock.offsetMs += 15_000;
  }
  server.rules.onToken = undefined;
  expect((await app.getToken())?.token).not.toBe(first?.token);
  expect(app.eventsOf("refresh-lost")).toEqual([]);
});

test("does not count a process that ended before it sent, however many there were", async () => {
  const { server, clock, app } = await signedIn({}, { keys: unencrypted });
  clock.offsetMs = hour;
  for (let each = 0; each < 3; each += 1) {
    // It ends when it has the lease: its discovery, its key, or its store's answer takes too long.
    const puts: string[] = [];
    const dying = app.next({
      store: {
        ...app.store,
        async put(...args) {
          puts.push(args[0]);
          if (puts.length > 1) return await new Promise<never>(() => {});
          return await app.store.put(...args);
        },
      },
    });
    void dying.getToken().catch(() => undefined);
    await expect.poll(() => puts.length).toBe(2);
    clock.offsetMs += 31_000;
  }
  expect(server.accepts((await app.getToken())?.token)).toBe(true);
  expect(server.refreshes()).toHaveLength(1);
});

test("takes a try back that was certainly not received", async () => {
  const { server, clock, app } = await signedIn({}, { keys: unencrypted });
  clock.offsetMs = hour;
  let isClosed = true;
  const refusing = app.next({
    fetch: async (url, init) =>
      // A port on which nobody listens.
      await fetch(isClosed && init?.method === "POST" ? "http://127.0.0.1:1/token" : url, init),
  });
  for (let each = 0; each < 3; each += 1) {
    expect((await errorOf(refusing.getToken())).code).toBe("CONNECTION_UNAVAILABLE");
    clock.offsetMs += 15_000;
  }
  expect((await grantOf(app.store)).record).not.toHaveProperty("unanswered");
  isClosed = false;
  expect(server.accepts((await refusing.getToken())?.token)).toBe(true);
  expect(server.refreshes()).toHaveLength(1);
  expect(await app.oauth.list({ principal: ada })).toHaveLength(1);
});

test("tells a loss once where others have given the refresh token up meanwhile", async () => {
  const { server, clock, app, token } = await signedIn();
  clock.offsetMs = hour - 59_000;
  server.rules.onToken = (_request, usual) => (usual(), "cut");
  const { promise: thaw, resolve: goOn } = Promise.withResolvers<void>();
  let puts = 0;
  const first = app.next({
    store: {
      ...app.store,
      async put(...args) {
        const written = await app.store.put(...args);
        puts += 1;
        // It has written that its answer was lost, and would ask again after a pause.
        if (puts === 3) await thaw;
        return written;
      },
    },
  });
  const waiting = errorOf(first.getToken({ refused: { status: 401, token } }));
  await expect.poll(() => puts).toBe(3);
  const later = app.next({ now: createClock(clock.offsetMs + 12_000).now });
  expect((await later.getToken())?.token).toBe(token);
  goOn();
  const { code, message } = await waiting;
  expect(code).toBe("AUTHORIZATION_REQUIRED");
  expect(message).toContain("The tokens of the last sign-in were lost");
  expect(server.refreshes()).toHaveLength(1);
  expect(later.eventsOf("refresh-lost")).toHaveLength(1);
  const told = first.events.map(({ type }) => type);
  expect(told).not.toContain("refresh-refused");
  expect(told).not.toContain("refresh-lost");
});

test.each([
  ["a loss", true],
  ["a refusal", false],
])("tells %s once to those that wait for the end of an early refresh", async (_name, isLost) => {
  const { server, clock, app, token } = await signedIn();
  clock.offsetMs = hour - 59_000;
  const { promise: held, resolve: release } = Promise.withResolvers<void>();
  server.rules.onToken = async (_request, usual) => {
    if (isLost && server.refreshes().length === 1) return (usual(), "cut" as const);
    await held;
    return { status: 400, body: { error: "invalid_grant" } };
  };
  const early = app.getToken();
  await expect.poll(() => server.refreshes().length, { timeout: 5_000 }).toBe(isLost ? 2 : 1);
  const other = app.next();
  const waiting = errorOf(other.getToken({ refused: { status: 401, token } }));
  release();
  expect((await early)?.token).toBe(token);
  expect((await waiting).code).toBe("AUTHORIZATION_REQUIRED");
  const told = [...app.events, ...other.events].map(({ type }) => type);
  const ends = told.filter((type) => /^refresh-(?:lost|refused)$/.test(type));
  expect(ends).toEqual([isLost ? "refresh-lost" : "refresh-refused"]);
});

test("does not send a token that another process has used while it stood still", async () => {
  const { server, clock, app } = await signedIn({}, { timeoutMs: 1_000 });
  clock.offsetMs = hour;
  const { promise: thaw, resolve: goOn } = Promise.withResolvers<void>();
  let puts = 0;
  const frozen = app.next({
    store: {
      ...app.store,
      async put(...args) {
        const answer = await app.store.put(...args);
        puts += 1;
        // It has written that it is about to send.
        if (puts === 2) await thaw;
        return answer;
      },
    },
  });
  const waiting = frozen.getToken();
  await expect.poll(() => puts).toBe(2);
  clock.offsetMs += 4_000; // past the lease
  const fresh = await app.getToken();
  goOn();
  expect(await waiting).toEqual(fresh);
  expect(server.refreshes()).toHaveLength(1);
  expect(server.accepts(fresh?.token)).toBe(true);
});

test("sends after it stood still, if nobody else has", async () => {
  const { server, clock, app } = await signedIn({}, { timeoutMs: 1_000 });
  clock.offsetMs = hour;
  let puts = 0;
  const frozen = app.next({
    store: {
      ...app.store,
      async put(...args) {
        puts += 1;
        if (puts === 2) clock.offsetMs += 40_000;
        return await app.store.put(...args);
      },
    },
  });
  expect(server.accepts((await frozen.getToken())?.token)).toBe(true);
  expect(server.refreshes()).toHaveLength(1);
});
