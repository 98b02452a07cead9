/** The records of users' sign-ins in the store of the sessions. */
import { createMemoryStore, type Principal, type SessionStore } from "@durable-mcp/core";
import { oauthKeys } from "@durable-mcp/core/internal";
import { describe, expect, test } from "vitest";
import { bothStores } from "../../../sessions/test/both-stores.ts";
import { createFingerprintingStore } from "../../../sessions/test/fingerprinting-store.ts";
import { startNotebookServer } from "../../../sessions/test/notebook-server.ts";
import { alice, bob } from "../step.ts";
import {
  createDurableSessions,
  defineMcpClientConnection,
  McpSessionError,
} from "../../src/index.ts";
import type { StoredSessionsOptions } from "../../../sessions/src/management/durable-sessions.ts";
import { recordOwner } from "../../../sessions/src/records/slot-record.ts";

type Options = Pick<StoredSessionsOptions, "share">;

const hour = 3_600_000;
const app: Principal = { type: "app" };
const kinds = ["grant", "sign-in"] as const;
const keysOf = (principal: Principal) =>
  kinds.map((kind) => oauthKeys.of(kind, "digest", principal));
const clientKey = oauthKeys.of("client", "digest", app);

/** As `@durable-mcp/oauth` does it: an object of functions, one for all connections. */
function createAuth() {
  const auth = {
    deleted: [] as Principal[],
    isSignedIn: true,
    getToken() {
      if (auth.isSignedIn) return { token: "token-1" };
      throw new McpSessionError("AUTHORIZATION_REQUIRED", "The user has to sign in.");
    },
    async deleteAll({ principal }: { principal: Principal }) {
      auth.isSignedIn = false;
      auth.deleted.push(principal);
      return await Promise.resolve(1);
    },
  };
  return auth;
}

/** Sessions of Alice and Bob, and sign-ins of both in the same store. */
async function start(wrap: (store: SessionStore) => SessionStore) {
  const server = await startNotebookServer();
  let time = Date.now();
  const now = () => time;
  const store = wrap(createMemoryStore({ now }));
  const [auth, other] = [createAuth(), createAuth()];
  const define = (own: object, path = "/mcp") =>
    defineMcpClientConnection({
      ...{ url: server.origin + path, description: "Notes.", session: "stateful" },
      ...own,
    });
  const connections = {
    notes: define({ auth }),
    pages: define({ auth }, "/mcp?pages"),
    files: define({ auth: other }, "/mcp?files"),
    own: define({ auth: () => "token-1" }, "/mcp?own"),
    plain: define({}, "/mcp?plain"),
  };
  const startProcess = (options: Options = {}) =>
    createDurableSessions({ connections, store, now, ...options });
  for (const principal of [alice, bob, app]) {
    const owner = recordOwner(principal);
    for (const key of keysOf(principal)) await store.put(key, { secret: true }, null, { owner });
  }
  await store.put(clientKey, { secret: true }, null, { owner: recordOwner(app) });
  /** Has a session with one server. */
  const use = async (id: string, principal: Principal, options: Options) => {
    const { notes } = connections;
    const sessions = createDurableSessions({ connections: { notes }, store, now, ...options });
    await sessions.run(id, { principal }, (run) => run.tools());
  };
  const kept = async (principal: Principal) => {
    const values = await Promise.all(keysOf(principal).map((key) => store.get(key)));
    return values.filter((value) => value !== undefined).length;
  };
  const pass = (ms: number) => void (time += ms);
  return { server, store, auth, other, startProcess, use, kept, pass };
}

const stores = [
  ...bothStores,
  ["a store of fingerprints", createFingerprintingStore] as (typeof bothStores)[number],
];

describe.each(stores)("in %s", (_, wrap) => {
  test.each([
    ["an agent", {}],
    ["shared sessions", { share: true }],
  ] as const)(
    "sign-ins are no sessions of %s, in any list, and outlast them",
    async (__, options) => {
      const { startProcess, use, kept, pass, auth } = await start(wrap);
      const sessions = startProcess(options);
      const of = { principal: alice };
      // The keys of sign-ins have this in the place of an agent session.
      for (const id of ["oauth", "chat"]) {
        await use(id, alice, options);
      }
      const isSession = [{ connection: "notes", sessionId: "oauth" }];
      expect((await sessions.list({ ...of, sessionId: "oauth" })).sessions).toMatchObject(
        isSession,
      );
      expect(await sessions.status("oauth", of)).toMatchObject([{ connection: "notes" }]);
      expect((await sessions.list(of)).sessions).toHaveLength(2);
      expect((await sessions.list({ ...of, shared: true })).sessions).toEqual([]);
      expect((await sessions.admin.list()).sessions).toHaveLength(2);
      await sessions.clearTools("oauth", of);
      expect(await sessions.restart("oauth", of)).toHaveLength(1);
      expect(await sessions.end("oauth", of)).toHaveLength(1);
      pass(1_000 * hour);
      const swept = await sessions.admin.sweep({ idleForMs: hour, authorize: () => of });
      expect(swept).toMatchObject({
        sessions: [{ sessionId: "chat" }],
        waitingCalls: 0,
        more: false,
      });
      expect(await kept(alice)).toBe(2);
      expect(await kept(bob)).toBe(2);
      expect(auth.deleted).toEqual([]);
    },
  );

  test("endAll ends the sessions, and then forgets the sign-ins of the principal", async () => {
    const { server, startProcess, use, kept, auth, other } = await start(wrap);
    const sessions = startProcess();
    for (const principal of [alice, bob]) {
      await use("chat", principal, {});
    }
    const ended = await sessions.endAll({ principal: alice });
    expect(ended).toMatchObject([{ connection: "notes", ended: true, removed: true }]);
    expect(server.liveSessions()).toBe(1);
    expect([auth.deleted, other.deleted]).toEqual([[alice], [alice]]);
    expect(await kept(alice)).toBe(0);
    expect(await kept(bob)).toBe(2);
  });

  test("endAll of the application keeps the registration, which all users need", async () => {
    const { store, startProcess, kept } = await start(wrap);
    await startProcess({ share: true }).endAll({ principal: app });
    expect(await kept(app)).toBe(0);
    expect(await store.get(clientKey)).toBeDefined();
  });
});

test("endAll leaves the mark of a sign-out, so that a sign-in under way brings nothing back", async () => {
  const { store, startProcess, kept, auth } = await start((memory) => memory);
  const [key] = keysOf(alice) as [string, string];
  auth.deleteAll = async () => {
    const { revision } = (await store.get(key))!;
    await store.put(key, { signedOut: true }, revision, { owner: recordOwner(alice) });
    return 1;
  };
  await startProcess().endAll({ principal: alice });
  expect(await store.get(key)).toMatchObject({ value: { signedOut: true } });
  expect(await kept(alice)).toBe(1);
});

test("endAll says what could not be forgotten, and forgets the rest", async () => {
  const { startProcess, kept, auth, other } = await start((store) => store);
  auth.deleteAll = () => Promise.reject(new Error("The vault is sealed."));
  const ending = startProcess().endAll({ principal: alice });
  await expect(ending).rejects.toThrow("The vault is sealed.");
  expect(other.deleted).toEqual([alice]);
  expect(await kept(alice)).toBe(0);
});
