import { inspect } from "node:util";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { describedNotebook } from "../../test/both-stores.ts";
import { authorizations, countedTokens, refuse } from "../../test/counted-tokens.ts";
import { sendText } from "../../../core/test/http-server.ts";
import { backends, type Kept, startKept } from "../../test/kept-sessions.ts";
import { type NotebookServer, on, startNotebookServer } from "../../test/notebook-server.ts";
import { alice, bob, callForText, callTool } from "../../test/step.ts";
import { type ConnectionRun, defineMcpClientConnection } from "../index.ts";
import type { McpClientConnectionOptions } from "../connection/connection-options.ts";

const define = ({ url }: { url: string }, options: Partial<McpClientConnectionOptions> = {}) =>
  defineMcpClientConnection({ url, description: "A notebook.", session: "stateful", ...options });

const add = (text: string) => async (registry: ConnectionRun<any>) =>
  await callForText(await registry.tools(), "notes__add_note", { text });
const notesOf = async (kept: Kept) => {
  let notes: string | undefined;
  await kept.step(async (registry) => {
    notes = await callForText(await registry.tools(), "notes__list_notes");
  });
  return notes;
};
const metadataOf = async (kept: Kept) => {
  let metadata: unknown;
  await kept.step(async (registry) => {
    const result = await callTool(await registry.tools(), "notes__list_notes");
    metadata = (result as { _meta?: unknown })["_meta"];
  });
  return metadata;
};
const isTold = { "durable-mcp/sessionReplaced": true };
const refuseDelete = (server: NotebookServer, status: number) =>
  server.intercept(on("DELETE", (_, response) => sendText(response, status)));
const notes = { connection: "notes" };
const ended = { ...notes, ended: true, removed: true };

describe.each(backends)("sessions in %s", (backend) => {
  let server: NotebookServer;
  let kept: Kept;
  const begin = async (options: Partial<McpClientConnectionOptions> = {}) => {
    server = await startNotebookServer();
    kept = startKept(backend, { notes: define(server, options) });
    await kept.step(add("milk"));
    kept.events.length = 0;
    server.requests.length = 0;
  };
  beforeEach(() => begin());

  test("are described for their principal, without an id and without a request", async () => {
    const { lastUsedAt: _, startedAt: __, ...described } = describedNotebook;
    const [entry, ...others] = await kept.list();
    expect(others).toEqual([]);
    expect(entry).toMatchObject({ ...notes, ...described });
    expect(await kept.list({ principal: bob })).toEqual([]);
    expect(JSON.stringify(entry)).not.toContain(server.sessionIds[0]);
    expect(server.requests).toEqual([]);
  });

  test("are alive until the server has lost them, and are not replaced by asking", async () => {
    expect(await kept.status()).toEqual([{ ...notes, alive: true }]);
    expect(server.log).toEqual(["POST ping"]);
    server.forgetSessions();
    const lost = { ...notes, alive: false, reason: "lost", status: 404 };
    expect(await kept.status()).toEqual([lost]);
    server.intercept(() => undefined);
    expect(await kept.status({ timeoutMs: 20 })).toMatchObject([{ reason: "timeout" }]);
    expect(server.sessionIds).toHaveLength(1);
  });

  test("list their tools anew when the list was cleared", async () => {
    await kept.clearTools();
    const before = await kept.contents();
    await kept.clearTools();
    expect(await kept.contents()).toBe(before);
    await kept.step((registry) => registry.tools());
    expect(server.log).toEqual(["POST tools/list"]);
    expect(server.sessionIds).toHaveLength(1);
  });

  test("are restarted: the next step has an empty one, and the model is told once", async () => {
    expect(await kept.restart()).toEqual([{ ...ended, removed: false }]);
    expect(server.liveSessions()).toBe(0);
    expect(await kept.list()).toMatchObject([{ ...notes, kind: "lost" }]);
    expect(await kept.status()).toMatchObject([{ reason: "no-session" }]);
    expect(await kept.restart()).toEqual([{ ...ended, removed: false }]);
    expect(await metadataOf(kept)).toMatchObject(isTold);
    expect(await metadataOf(kept)).toBeUndefined();
    expect(await notesOf(kept)).toBe("");
    expect(kept.events[0]).toMatchObject({ type: "recovered" });
  });

  test.each(["restart", "end"] as const)(
    "that the server refuses to %s are left to the next step, which tries once more",
    async (verb) => {
      refuseDelete(server, 500);
      const failed = { ...notes, ended: false, status: 500, reason: "refused", removed: false };
      expect(await kept[verb]()).toEqual([failed]);
      expect(await kept.list()).toMatchObject([{ kind: "lost" }]);
      server.intercept(() => "next");
      expect(await notesOf(kept)).toBe("");
      expect(server.liveSessions()).toBe(1);
      server.requests.length = 0;
      await kept.step((registry) => registry.tools());
      expect(server.log).toEqual([]);
    },
  );

  test("that the server refuses to end are ended when tried again", async () => {
    server.intercept(on("DELETE", (_, response) => void response.destroy()));
    expect(await kept.end()).toMatchObject([{ ended: false, reason: "unreachable" }]);
    server.intercept(() => "next");
    expect(await kept.end()).toEqual([ended]);
    expect(server.liveSessions()).toBe(0);
    expect(await kept.list()).toEqual([]);
  });

  test("are ended, and the next step starts anew, without a loss", async () => {
    expect(await kept.end()).toEqual([ended]);
    expect(server.requests).toMatchObject([
      { method: "DELETE", headers: { "mcp-session-id": server.sessionIds[0] } },
    ]);
    expect(await kept.end()).toEqual([]);
    expect(await metadataOf(kept)).toBeUndefined();
    expect(kept.events).toMatchObject([{ type: "started" }]);
  });

  test.each([404, 405])("are over when the server answers %i", async (status) => {
    refuseDelete(server, status);
    expect(await kept.end()).toEqual([ended]);
  });

  test("of others stay", async () => {
    await kept.step(add("of bob"), bob);
    await kept.end();
    await kept.restart();
    expect(server.liveSessions()).toBe(1);
    expect(await kept.list({ principal: bob })).toMatchObject([{ kind: "session" }]);
    await kept.end({ principal: bob });
    expect(server.liveSessions()).toBe(0);
  });

  test.each<[string, (snapshot: any) => object]>([
    ["do not parse", (snapshot) => ({ ...snapshot, toolList: {} })],
    ["have a forged id", (snapshot) => ({ ...snapshot, sessionId: "a\r\nx-evil: 1" })],
  ])("that %s are told of as lost after a restart, and gone after an end", async (_, change) => {
    await kept.change(change);
    expect(await kept.list()).toMatchObject([{ ...notes, kind: "invalid" }]);
    expect(await kept.status()).toMatchObject([{ reason: "no-session" }]);
    await kept.clearTools();
    expect(await kept.restart()).toEqual([{ ...ended, removed: false }]);
    expect(await kept.list()).toMatchObject([{ kind: "lost" }]);
    expect(server.requests).toEqual([]);
    expect(await metadataOf(kept)).toMatchObject(isTold);

    await kept.change(change);
    expect(await kept.end()).toEqual([ended]);
    expect(await metadataOf(kept)).toBeUndefined();
  });

  test("of another URL get no request there, and are told of as lost after a restart", async () => {
    const moved = await startNotebookServer();
    const elsewhere = kept.as({ notes: define(moved) });
    expect(await elsewhere.status()).toMatchObject([{ reason: "no-session" }]);
    const undeclared = { ...notes, ended: false, reason: "undeclared" };
    expect(await elsewhere.restart()).toEqual([{ ...undeclared, removed: false }]);
    expect(await metadataOf(elsewhere)).toMatchObject(isTold);
    expect(await kept.end()).toEqual([{ ...undeclared, removed: true }]);
    expect(server.requests).toEqual([]);
    expect(moved.log).not.toContain("DELETE");
  });

  test("of a later release are shown, and stay", async () => {
    await kept.change((snapshot) => ({ ...snapshot, version: 2 }));
    const before = await kept.contents();
    const newer = { ...notes, ended: false, reason: "newer", removed: false };
    expect(await kept.list()).toMatchObject([{ ...notes, kind: "newer" }]);
    expect(await kept.restart()).toEqual([newer]);
    expect(await kept.end()).toEqual([newer]);
    await kept.clearTools();
    await expect(kept.step(() => undefined)).rejects.toMatchObject({
      code: "STATE_INVALID",
      message: expect.stringContaining("later release"),
      data: { connection: "notes", field: "version" },
    });
    expect(await kept.contents()).toBe(before);
    expect(server.log).toEqual([]);
  });

  test("are ended though their connection is stateless now", async () => {
    expect(await kept.as({ notes: define(server, { session: "stateless" }) }).end()).toEqual([
      ended,
    ]);
    expect(server.liveSessions()).toBe(0);
  });

  test("of a server without sessions are forgotten by a restart, and nothing is told", async () => {
    const plain = await startNotebookServer({ isSessionless: true });
    const sessionless = startKept(backend, { notes: define(plain) });
    await sessionless.step((registry) => registry.tools());
    expect(await sessionless.list()).toMatchObject([{ kind: "sessionless" }]);
    expect(await sessionless.restart()).toEqual([ended]);
    expect(await sessionless.list()).toEqual([]);
    expect(await metadataOf(sessionless)).toBeUndefined();
  });

  test("are ended with the connection's headers and token, asked for again after a 401", async () => {
    const { contexts, auth } = countedTokens();
    const headers = {
      "x-tenant": ({ connection }: { connection: string }) => `acme-${connection}`,
    };
    await begin({ auth, headers });
    refuse(server, "DELETE", 1);
    expect(await kept.end()).toEqual([ended]);
    expect(authorizations(server)).toEqual(["Bearer token-2", "Bearer token-3"]);
    expect(server.requests).toMatchObject([{}, { headers: { "x-tenant": "acme-notes" } }]);
    expect(contexts.at(-1)).toMatchObject({ principal: alice, connection: "notes" });
  });

  test("are not ended without a token, and after the time is up", async () => {
    const never = vi.fn<() => Promise<never>>(() => new Promise(() => {}));
    const failing = { getToken: () => Promise.reject(new Error("refresh_token=canary")) };
    const without = kept.as({ notes: define(server, { auth: failing }) });
    expect(await without.end()).toMatchObject([{ ended: false, reason: "unreachable" }]);
    const waiting = kept.as({ notes: define(server, { auth: { getToken: never } }) });
    expect(await waiting.end({ timeoutMs: 50 })).toMatchObject([{ reason: "timeout" }]);
    expect(never.mock.calls).toMatchObject([[{ abortSignal: { aborted: true } }]]);
    expect(server.log).toEqual([]);
    server.intercept(on("DELETE", () => undefined));
    expect(await kept.end({ timeoutMs: 50 })).toMatchObject([{ ended: false, reason: "timeout" }]);
  });

  test("are ended without an id, a token or a principal in results and events", async () => {
    await begin({ auth: { getToken: () => ({ token: "canary-token" }) } });
    server.intercept(
      on("DELETE", ({ headers }, response) => {
        const { authorization = "" } = headers;
        sendText(response, 403, `${authorization} ${String(headers["mcp-session-id"])}`);
      }),
    );
    const results = [...(await kept.restart()), ...(await kept.end())];
    expect(results).toHaveLength(2);
    const seen = inspect([results, kept.events], { depth: Infinity, showHidden: true });
    expect(seen).not.toMatch(/canary|secret-session|idp\.test|alice/);
  });

  test.each(["list", "status", "restart", "end", "clearTools"] as const)(
    "%s needs a principal, a connection that is declared, and a name",
    async (verb) => {
      for (const nobody of [undefined, null]) {
        await expect(kept[verb]({ principal: nobody as never })).rejects.toMatchObject({
          code: "PRINCIPAL_REQUIRED",
        });
      }
      for (const connection of ["others", "", "constructor", "__proto__", null]) {
        await expect(kept[verb]({ connection: connection as string })).rejects.toMatchObject({
          code: "CONNECTION_INVALID",
          data: { field: "connection" },
        });
      }
      await expect(kept[verb]({ name: "" })).rejects.toMatchObject({
        code: "CONNECTION_INVALID",
        data: { field: "name" },
      });
      expect(server.log).toEqual([]);
    },
  );
});

const createNames = async ({ named }: ConnectionRun<any>) => {
  await named.create("a", { idleTimeoutMs: 900_000 });
  await named.create("b");
  await named.run("a", (own: ConnectionRun<any>) => own.tools());
};

const parts = (entries: readonly { connection: string; name?: string | undefined }[]) =>
  entries.map(({ connection, name = "-" }) => `${connection} ${name}`).toSorted();
const all = ["drafts -", "drafts a", "drafts b", "notes -", "notes a", "notes b"];

describe.each(backends)("several sessions in %s", (backend) => {
  async function start() {
    const servers = { notes: await startNotebookServer(), drafts: await startNotebookServer() };
    const kept = startKept(backend, {
      notes: define(servers.notes),
      drafts: define(servers.drafts),
    });
    await kept.step((registry) => registry.tools());
    await kept.step(createNames);
    await kept.step(createNames, bob);
    // Carried state makes a session without a name when a tool needs it.
    await kept.step((registry) => registry.tools(), bob);
    for (const { requests } of Object.values(servers)) requests.length = 0;
    kept.events.length = 0;
    const live = () => [servers.notes.liveSessions(), servers.drafts.liveSessions()];
    return { ...servers, kept, live };
  }

  test("are ended at once, with those under names, of this principal alone", async () => {
    const { notes: first, drafts, kept, live } = await start();
    expect(live()).toEqual([6, 6]);
    expect(parts(await kept.list())).toEqual(all);
    let arrived = 0;
    const allArrived = Promise.withResolvers<void>();
    for (const server of [first, drafts]) {
      server.intercept(
        on("DELETE", async () => {
          arrived += 1;
          if (arrived === all.length) allArrived.resolve();
          await allArrived.promise;
          return "next" as const;
        }),
      );
    }
    const results = await kept.end();
    expect(parts(results)).toEqual(all);
    expect(results.every((result) => result.ended)).toBe(true);
    expect(live()).toEqual([3, 3]);
    expect(await kept.list()).toEqual([]);
    expect(parts(await kept.list({ principal: bob }))).toEqual(all);
  });

  test("are selected by their connection and their name", async () => {
    const { notes: first, kept, live } = await start();
    const only = { connection: "notes", name: "a" };
    expect(await kept.list(only)).toMatchObject([
      { ...only, kind: "session", idleTimeoutMs: 900_000, startedAt: expect.any(Number) },
    ]);
    expect(await kept.status(only)).toEqual([{ ...only, alive: true }]);
    await kept.clearTools(only);
    const cleared = (await kept.list({ name: "a" })).filter(({ tools }) => tools === undefined);
    expect(parts(cleared)).toEqual(["notes a"]);
    expect(await kept.restart(only)).toEqual([{ ...only, ended: true, removed: false }]);
    expect(await kept.list(only)).toMatchObject([{ kind: "lost", idleTimeoutMs: 900_000 }]);
    expect(await kept.end(only)).toEqual([{ ...only, ended: true, removed: true }]);
    expect(parts(await kept.end({ connection: "drafts" }))).toEqual([
      "drafts -",
      "drafts a",
      "drafts b",
    ]);
    expect(live()).toEqual([5, 3]);
    expect(await kept.end({ name: "unknown" })).toEqual([]);
    refuseDelete(first, 500);
    expect(await kept.end({ name: "b" })).toMatchObject([{ ended: false, reason: "refused" }]);
    first.intercept(() => "next");
    expect(await kept.end({ name: "b" })).toMatchObject([{ connection: "notes", ended: true }]);
  });

  test("are those of the principal's own connections", async () => {
    const { notes: first, kept } = await start();
    const ofNobody = kept.as((who) => (who === alice ? {} : { notes: define(first) }));
    expect(await ofNobody.status({ name: "a" })).not.toContainEqual(
      expect.objectContaining({ alive: true }),
    );
    expect(first.log).toEqual([]);
  });
});
