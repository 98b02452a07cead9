import { inspect } from "node:util";
import { describe, expect, test, vi } from "vitest";
import { authorizations, countedTokens, refuse } from "../../test/counted-tokens.ts";
import { sendText } from "../../test/http-server.ts";
import { type NotebookServer, on, startNotebookServer } from "../../test/notebook-server.ts";
import { aliceKey, deepFreeze, slotsOf, startSaved } from "../../test/saved-session.ts";
import { type AgentSession, alice, bob, callForText, startApplication } from "../../test/step.ts";
import { createConnectionProvider } from "../provider/create-connection-provider.ts";
import type { McpClientConnectionOptions } from "../connection/connection-options.ts";
import type { ConnectionRegistry } from "../registry/connection-registry.ts";
import { defineMcpClientConnection } from "../connection/define-connection.ts";

const principal = alice;

/** A DELETE is answered with this status instead of ending anything. */
const refuseDelete = (server: NotebookServer, status: number) =>
  server.intercept(on("DELETE", (_, response) => sendText(response, status)));

const hang = (server: NotebookServer) => server.intercept(on("DELETE", () => undefined));

const never = () => new Promise<never>(() => {});

const fail = () => Promise.reject(new Error("refresh_token=canary"));

const issuedTokens = { tokens: () => ({ access_token: "issued", token_type: "Bearer" }) };

const define = ({ url }: NotebookServer, options: Partial<McpClientConnectionOptions> = {}) =>
  defineMcpClientConnection({ url, description: "A notebook.", session: "stateful", ...options });

/** An application with notes and drafts, each on a server of its own, and a session of both. */
async function startTwo() {
  const [notes, drafts] = [await startNotebookServer(), await startNotebookServer()];
  const application = startApplication({ notes: define(notes), drafts: define(drafts) });
  const session = await application.step({}, (registry) => registry.tools());
  for (const { requests } of [notes, drafts]) requests.length = 0;
  return { notes, drafts, ...application, session };
}

/** An application with one connection of these options, and a session of it that `alice` has. */
async function startWith(options: Partial<McpClientConnectionOptions>) {
  const server = await startNotebookServer();
  const application = startApplication({ notes: define(server, options) });
  const session = await application.step({}, (registry) => registry.tools());
  server.requests.length = 0;
  return { server, ...application, session };
}

describe("end", () => {
  test("ends the session on the server, so that a step with a kept copy recovers", async () => {
    const { server, application, session } = await startSaved();
    const [sessionId] = server.sessionIds;
    expect(await application.provider.end(session, { principal })).toEqual({
      session: { state: {} },
      results: [{ connection: "notes", ended: true, status: 200 }],
    });
    expect(server.requests).toMatchObject([
      {
        method: "DELETE",
        path: "/mcp",
        headers: { "mcp-session-id": sessionId, "mcp-protocol-version": "2025-11-25" },
      },
    ]);

    await application.step(session, async (registry) => {
      expect(await callForText(await registry.tools(), "notes__list_notes")).toBe("");
    });
    expect(application.takeEvents()).toEqual(expect.arrayContaining(["lost", "recovered"]));
    expect(server.sessionIds).toHaveLength(2);
  });

  test("leaves a session with which the next step starts anew, without a loss", async () => {
    const { server, application, session } = await startSaved();
    const { session: after } = await application.provider.end(session, { principal });
    await application.step(after, (registry) => registry.tools());
    expect(application.takeEvents()).toEqual(["started"]);
    expect(server.sessionIds).toHaveLength(2);
  });

  test.each([404, 405])("takes %i for done", async (status) => {
    const { server, application, session } = await startSaved();
    refuseDelete(server, status);
    expect(await application.provider.end(session, { principal })).toEqual({
      session: { state: {} },
      results: [{ connection: "notes", ended: true, status }],
    });
  });

  test("keeps what the server refused to end, and ends it when tried again", async () => {
    const { server, application, session } = await startSaved();
    refuseDelete(server, 500);
    const refused = await application.provider.end(session, { principal });
    expect(refused.session).toBe(session);
    expect(refused.results).toEqual([
      { connection: "notes", ended: false, status: 500, reason: "refused" },
    ]);

    server.intercept(() => "next");
    const ended = await application.provider.end(refused.session, { principal });
    expect(ended.results).toEqual([{ connection: "notes", ended: true, status: 200 }]);
  });

  test("reports each connection, and keeps those that did not end", async () => {
    const { notes, drafts, provider, session } = await startTwo();
    notes.intercept(on("DELETE", (_, response) => void response.destroy()));
    const { session: after, results } = await provider.end(session, { principal });
    expect(results).toEqual([
      { connection: "notes", ended: false, reason: "unreachable" },
      { connection: "drafts", ended: true, status: 200 },
    ]);
    expect(slotsOf(after)).toEqual({ [aliceKey]: slotsOf(session)[aliceKey] });
    expect(drafts.log).toEqual(["DELETE"]);
  });

  test("ends only the named connection's session", async () => {
    const { notes, drafts, provider, session } = await startTwo();
    const after = await provider.end(session, { principal, connection: "drafts" });
    expect(after.results).toEqual([{ connection: "drafts", ended: true, status: 200 }]);
    expect(slotsOf(after.session)).toEqual({ [aliceKey]: slotsOf(session)[aliceKey] });
    expect([notes.log, drafts.log]).toEqual([[], ["DELETE"]]);
  });

  test("touches no other principal's session, in one state", async () => {
    const { server, application, session } = await startSaved();
    const both = await application.step(
      session,
      async (registry) => {
        await callForText(await registry.tools(), "notes__add_note", { text: "of bob" });
      },
      bob,
    );
    server.requests.length = 0;
    const { session: after } = await application.provider.end(both, { principal });
    const { [aliceKey]: _, ...ofOthers } = slotsOf(both);
    expect(Object.keys(ofOthers)).toHaveLength(1);
    expect(slotsOf(after)).toEqual(ofOthers);
    expect(server.requests.map(({ headers }) => headers["mcp-session-id"])).toEqual([
      server.sessionIds[0],
    ]);
    await application.step(
      after,
      async (registry) => {
        const notes = await callForText(await registry.tools(), "notes__list_notes");
        expect(notes).toBe("of bob");
      },
      bob,
    );
  });

  test("mutates nothing and touches no other key", async () => {
    const { application, snapshot } = await startSaved();
    const ofAnother = { '["other","app"]': "whatever" };
    const given = deepFreeze({
      id: "chat-1",
      messages: [{ role: "user" }],
      state: { cart: { items: [1] }, mcpSessions: { [aliceKey]: snapshot, ...ofAnother } },
    });
    const before = structuredClone(given);
    const { session: after } = await application.provider.end(given, { principal });
    expect(given).toEqual(before);
    expect(after).toEqual({ ...given, state: { cart: { items: [1] }, mcpSessions: ofAnother } });
    expect(after.messages).toBe(given.messages);
    expect(after.state.cart).toBe(given.state.cart);
  });

  test("ends what was saved before the connection was declared stateless", async () => {
    const { server, session } = await startSaved();
    const { provider } = startApplication({
      notes: define(server, { session: "stateless" }),
    });
    expect(await provider.end(session, { principal })).toEqual({
      session: { state: {} },
      results: [{ connection: "notes", ended: true, status: 200 }],
    });
  });
});

describe("nothing is sent, and nothing reported,", () => {
  test.each<[string, AgentSession]>([
    ["no state", {}],
    ["state that is null", { state: null }],
    ["state without sessions", { state: { cart: 1 } }],
    ["sessions of others", { state: { mcpSessions: { '["notes","app"]': {} } } }],
  ])("for %s: the same object comes back", async (_, session) => {
    const { server, application } = await startSaved();
    const after = await application.provider.end(session, { principal });
    expect(after.session).toBe(session);
    expect(after.results).toEqual([]);
    expect(application.events).toEqual([]);
    expect(server.log).toEqual([]);
  });

  test.each<[string, (snapshot: object, url: string) => unknown, string[]]>([
    ["null", () => null, ["invalid"]],
    ["an unknown key in its list", (snapshot) => ({ ...snapshot, toolList: {} }), ["invalid"]],
    ["a forged id", (snapshot) => ({ ...snapshot, sessionId: "a\r\nx-evil: 1" }), ["invalid"]],
    ["another path", (snapshot, url) => ({ ...snapshot, url: `${url}/admin` }), ["url"]],
    ["another origin", (snapshot) => ({ ...snapshot, url: "https://evil.test/mcp" }), ["url"]],
    ["kind sessionless", (_, url) => ({ version: 1, kind: "sessionless", url }), []],
    ["kind stateless", (_, url) => ({ version: 1, kind: "stateless", url, decidedAt: 1 }), []],
  ])("for an entry with %s: it is removed", async (_, corrupt, reasons) => {
    const { server, application, snapshot } = await startSaved();
    const session = {
      state: { cart: 1, mcpSessions: { [aliceKey]: corrupt(snapshot, server.url) } },
    };
    expect(await application.provider.end(session, { principal })).toEqual({
      session: { state: { cart: 1 } },
      results: [],
    });
    expect(application.events).toEqual(
      reasons.map((reason) => ({ type: "discarded", connection: "notes", reason })),
    );
    expect(server.log).toEqual([]);
  });
});

describe("the connection's headers and token", () => {
  test("go with the DELETE, for its principal and connection", async () => {
    const { contexts, auth } = countedTokens();
    const { server, provider, session } = await startWith({
      auth,
      headers: { "x-tenant": ({ connection }) => `acme-${connection}` },
    });
    await provider.end(session, { principal });
    expect(server.requests).toMatchObject([
      { headers: { authorization: "Bearer token-2", "x-tenant": "acme-notes" } },
    ]);
    expect(contexts.at(-1)).toMatchObject({ principal: alice, connection: "notes" });
  });

  test("are asked for again after a 401, once", async () => {
    const { auth } = countedTokens();
    const { server, provider, session } = await startWith({ auth });
    refuse(server, "DELETE", 1);
    const { results } = await provider.end(session, { principal });
    expect(results).toEqual([{ connection: "notes", ended: true, status: 200 }]);
    expect(authorizations(server)).toEqual(["Bearer token-2", "Bearer token-3"]);
  });

  test("can be an auth provider's", async () => {
    const { server, session } = await startSaved();
    const { provider } = startApplication({
      notes: define(server, { authProvider: () => issuedTokens as never }),
    });
    await provider.end(session, { principal });
    expect(authorizations(server)).toEqual(["Bearer issued"]);
  });

  test("that cannot be had mean that nothing is sent, and the session is kept", async () => {
    const { server, session } = await startSaved();
    const { provider } = startApplication({ notes: define(server, { auth: { getToken: fail } }) });
    const after = await provider.end(session, { principal });
    expect(after.session).toBe(session);
    expect(after.results).toEqual([{ connection: "notes", ended: false, reason: "unreachable" }]);
    expect(server.log).toEqual([]);
  });
});

describe("in bounded time", () => {
  test("gives up on a server that hangs, while the others end", async () => {
    const { notes, provider, session } = await startTwo();
    hang(notes);
    // For a busy machine, on which the other one takes its time.
    const options = { principal, timeoutMs: 2_000 };
    const { session: after, results } = await provider.end(session, options);
    expect(results).toEqual([
      { connection: "notes", ended: false, reason: "timeout" },
      { connection: "drafts", ended: true, status: 200 },
    ]);
    expect(slotsOf(after)).toEqual({ [aliceKey]: slotsOf(session)[aliceKey] });
  });

  test("gives up on a getToken that hangs, and aborts its signal", async () => {
    const { server, session } = await startSaved();
    const getToken = vi.fn<typeof never>(never);
    const { provider } = startApplication({ notes: define(server, { auth: { getToken } }) });
    const { results } = await provider.end(session, { principal, timeoutMs: 50 });
    expect(results).toEqual([{ connection: "notes", ended: false, reason: "timeout" }]);
    expect(getToken.mock.calls).toMatchObject([[{ abortSignal: { aborted: true } }]]);
    expect(server.log).toEqual([]);
  });

  test("waits for all at once, not for one after the other", async () => {
    const { notes, drafts, provider, session } = await startTwo();
    let arrived = 0;
    const bothArrived = Promise.withResolvers<void>();
    for (const server of [notes, drafts]) {
      server.intercept(
        on("DELETE", async () => {
          arrived += 1;
          if (arrived === 2) bothArrived.resolve();
          await bothArrived.promise;
          return "next" as const;
        }),
      );
    }
    const { results } = await provider.end(session, { principal });
    expect(results.map(({ ended }) => ended)).toEqual([true, true]);
  });
});

describe("what is asked for", () => {
  test.each([undefined, null])("needs a principal, also without sessions: %s", async (nobody) => {
    const provider = createConnectionProvider({ connections: {} });
    await expect(provider.end({}, { principal: nobody as never })).rejects.toMatchObject({
      code: "PRINCIPAL_REQUIRED",
    });
  });

  test.each(["others", "", "constructor", "__proto__", null])(
    "cannot be a connection that is not declared: %j",
    async (connection) => {
      const { server, application, session } = await startSaved();
      const options = { principal, connection: connection as "notes" };
      await expect(application.provider.end(session, options)).rejects.toMatchObject({
        code: "CONNECTION_INVALID",
        data: { field: "connection" },
      });
      expect(server.log).toEqual([]);
    },
  );

  test("is of the principal's own connections, when they are a function of it", async () => {
    const { server, session } = await startSaved();
    const { provider } = startApplication((who) =>
      who === alice ? {} : { notes: define(server) },
    );
    const after = await provider.end(session, { principal });
    expect(after).toEqual({ session, results: [] });
    expect(server.log).toEqual([]);
  });
});

test("results and events hold no id, token or principal, also when the server repeats them", async () => {
  const { server, provider, events, session } = await startWith({
    auth: { getToken: () => ({ token: "canary-token" }) },
  });
  server.intercept(
    on("DELETE", ({ headers }, response) => {
      const { authorization = "" } = headers;
      sendText(response, 403, `${authorization} ${String(headers["mcp-session-id"])}`);
    }),
  );
  const { results } = await provider.end(session, { principal });
  expect(results).toHaveLength(1);
  const seen = inspect([results, events], { depth: Infinity, showHidden: true });
  expect(seen).not.toMatch(/canary|secret-session|idp\.test|alice/);
});

const create = (name: string) => (registry: ConnectionRegistry<any>) => registry.named.create(name);

/** A session of alice with notes and drafts, two names of each, and one of bob's. */
async function startNamed() {
  const { notes, drafts, step, provider, takeEvents, session } = await startTwo();
  const named = await step(await step(session, create("a")), create("b"));
  const all = await step(named, create("a"), bob);
  for (const { requests } of [notes, drafts]) requests.length = 0;
  takeEvents();
  const live = () => [notes.liveSessions(), drafts.liveSessions()];
  return { notes, drafts, provider, takeEvents, session: all, live, step };
}

describe("end of named sessions", () => {
  test("ends them with those that have no name, of this principal alone", async () => {
    const { provider, session, live } = await startNamed();
    expect(live()).toEqual([4, 4]);
    const { session: after, results } = await provider.end(session, { principal });
    const parts = results.map(({ connection, name }) => `${connection} ${name ?? "-"}`);
    expect(parts.toSorted()).toEqual([
      ...["drafts -", "drafts a", "drafts b"],
      ...["notes -", "notes a", "notes b"],
    ]);
    expect(results.every(({ ended }) => ended)).toBe(true);
    expect(live()).toEqual([1, 1]);
    const left = provider.create({ state: after.state, principal: bob });
    expect((await left.named.list()).map(({ name }) => name)).toEqual(["a"]);
    expect(Object.keys(slotsOf(after))).toHaveLength(2);
  });

  test("ends the one that is asked for", async () => {
    const { provider, session, live } = await startNamed();
    const { session: after, results } = await provider.end(session, {
      principal,
      name: "a",
      connection: "notes",
    });
    expect(results).toEqual([{ connection: "notes", name: "a", ended: true, status: 200 }]);
    expect(live()).toEqual([3, 4]);
    const left = provider.create({ state: after.state, principal });
    const list = await left.named.list();
    expect(list.map(({ name, connections }) => [name, connections.length])).toEqual([
      ["a", 1],
      ["b", 2],
    ]);
    const none = await provider.end(session, { principal, name: "unknown" });
    expect(none).toEqual({ session, results: [] });
  });

  test("keeps those that could not be ended", async () => {
    const { notes, provider, session } = await startNamed();
    refuseDelete(notes, 500);
    const { session: after, results } = await provider.end(session, { principal, name: "a" });
    expect(results).toContainEqual({
      connection: "notes",
      name: "a",
      ended: false,
      status: 500,
      reason: "refused",
    });
    notes.intercept(() => "next");
    expect((await provider.end(after, { principal, name: "a" })).results).toEqual([
      { connection: "notes", name: "a", ended: true, status: 200 },
    ]);
  });

  test("removes what does not parse, and says so", async () => {
    const { provider, session, takeEvents } = await startNamed();
    const state = JSON.parse(JSON.stringify(session.state).replaceAll('"lastUsedAt"', '"late"'));
    const { session: after, results } = await provider.end({ state }, { principal, name: "a" });
    expect(results).toEqual([]);
    expect(takeEvents()).toEqual(["discarded", "discarded"]);
    expect(Object.keys(slotsOf(after))).toHaveLength(Object.keys(slotsOf({ state })).length - 2);
  });

  test("refuses a name that is none", async () => {
    const { provider, session } = await startNamed();
    await expect(provider.end(session, { principal, name: "" })).rejects.toMatchObject({
      code: "CONNECTION_INVALID",
      data: { field: "name" },
    });
  });
});
