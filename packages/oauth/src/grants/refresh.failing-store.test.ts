import { createMemoryStore, McpSessionError, type SessionStore } from "@durable-mcp/core";
import { expect, test } from "vitest";
import { createApplication, errorOf } from "../../test/application.ts";
import { signedIn } from "../../test/signed-in.ts";

const hour = 3_600_000;

/** A store whose writes of grants fail so often. */
function failingStore(hasWritten: boolean) {
  const inner = createMemoryStore();
  const failing = { left: 0 };
  const store: SessionStore = {
    ...inner,
    async put(key, value, revision, options) {
      if (failing.left === 0 || !key.includes("oauth/grant/")) {
        return await inner.put(key, value, revision, options);
      }
      failing.left -= 1;
      if (hasWritten) await inner.put(key, value, revision, options);
      throw new McpSessionError("STORE_FAILED", "The store does not answer.");
    },
  };
  return { store, failing };
}

test("saves new tokens again where the store fails for a moment", async () => {
  const { store, failing } = failingStore(false);
  const { server, clock, app } = await signedIn({}, { store });
  clock.offsetMs = hour;
  server.rules.onToken = (_request, usual) => {
    failing.left = 2;
    return usual();
  };
  const fresh = await app.getToken();
  expect(await app.next().getToken()).toEqual(fresh);
  expect(server.accepts(fresh?.token)).toBe(true);
  expect(server.refreshes()).toHaveLength(1);
});

test("keeps new tokens that a failing store has written all the same", async () => {
  const { store, failing } = failingStore(true);
  const { server, clock, app } = await signedIn({}, { store });
  clock.offsetMs = hour;
  server.rules.onToken = (_request, usual) => {
    failing.left = 1;
    return usual();
  };
  const fresh = await app.getToken();
  expect(server.accepts(fresh?.token)).toBe(true);
  expect(server.revoked).toEqual([]);
  expect(app.eventsOf("refreshed")).toHaveLength(1);
});

test("says that the store failed, and sends a token no more that was used long ago", async () => {
  const { store, failing } = failingStore(false);
  const { server, clock, app } = await signedIn({}, { store });
  clock.offsetMs = hour;
  server.rules.onToken = (_request, usual) => {
    failing.left = Infinity;
    return usual();
  };
  expect((await errorOf(app.getToken())).code).toBe("STORE_FAILED");
  failing.left = 0;
  server.rules.onToken = undefined;
  clock.offsetMs += 25_000; // past the lease
  // The rotated token is gone with the store.
  const { code, message } = await errorOf(app.next().getToken());
  expect(code).toBe("AUTHORIZATION_REQUIRED");
  expect(message).toContain("were lost, with the answer to a refresh (process-ended)");
  expect(server.refreshes()).toHaveLength(1);
});

test("lets others refresh at once after the store failed before anything was sent", async () => {
  const inner = createMemoryStore();
  let isDown = false;
  const store: SessionStore = {
    ...inner,
    async get(key) {
      if (isDown && key.includes("oauth/client/")) {
        throw new McpSessionError("STORE_FAILED", "The store does not answer.");
      }
      return await inner.get(key);
    },
  };
  const { server, clock, app } = await signedIn({}, { store });
  clock.offsetMs = hour;
  isDown = true;
  for (let each = 0; each < 3; each += 1) {
    expect((await errorOf(app.getToken())).code).toBe("STORE_FAILED");
    clock.offsetMs += 1_500;
  }
  isDown = false;
  expect(server.accepts((await app.getToken())?.token)).toBe(true);
  expect(server.refreshes()).toHaveLength(1);
});

test.each([false, true])(
  "revokes tokens where the store fails for a moment",
  async (hasWritten) => {
    const { store, failing } = failingStore(hasWritten);
    const { server, app, token } = await signedIn({}, { store });
    failing.left = 1;
    const use = { principal: app.use.principal, connection: "notes" };
    expect(await app.oauth.signOut(use)).toMatchObject([{ isRevoked: true }]);
    expect(server.revoked).toContain(token);
    expect(await app.getToken()).toBeUndefined();
  },
);

test("leaves the tokens where the store fails before they are gone, so that a sign-out can be tried again", async () => {
  const store = createMemoryStore();
  const { server, app, token } = await signedIn({}, { store });
  let isDown = true;
  const get: SessionStore["get"] = async (key) => {
    if (isDown && key.includes("oauth/client/")) throw new Error("The store does not answer.");
    return await store.get(key);
  };
  const next = app.next({ store: { ...store, get } });
  const use = { principal: app.use.principal, connection: "notes" };
  await expect(next.oauth.signOut(use)).rejects.toThrow("does not answer");
  isDown = false;
  expect(await next.oauth.signOut(use)).toMatchObject([{ isRevoked: true }]);
  expect(server.revoked).toContain(token);
});

test("does not look for ever into a store whose reads lag", async () => {
  const store = createMemoryStore();
  let reads = 0;
  const lagging: SessionStore = {
    ...store,
    get: async (key) => await store.get(key).finally(() => (reads += 1)),
    put: async () => await Promise.resolve({ ok: false, current: undefined }),
  };
  const app = createApplication({ url: "https://notes.example/mcp", store: lagging });
  const abortSignal = AbortSignal.timeout(300);
  const error = await errorOf(app.getToken({ refused: { status: 401 }, abortSignal }));
  expect(error).toBe(abortSignal.reason);
  expect(reads).toBeLessThan(100);
});
