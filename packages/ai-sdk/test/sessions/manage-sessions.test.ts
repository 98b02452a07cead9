/** Looking after sessions between steps, wherever they are kept. */
import { inspect } from "node:util";
import { beforeEach, describe, expect, test, vi } from "vitest";
import {
  add,
  backends,
  isTold,
  type Kept,
  list as notesOf,
  type Run,
  startAgent,
} from "../agent-session.ts";
import { authorizations, countedTokens, refuse } from "../counted-tokens.ts";
import { sendJson, sendText } from "../../../core/test/http-server.ts";
import {
  type NotebookServer,
  on,
  startNotebookServer,
} from "../../../sessions/test/notebook-server.ts";
import { notebook as define } from "../saved-session.ts";
import { alice, bob } from "../step.ts";
import type { McpClientConnectionOptions } from "../../src/index.ts";

const refuseDelete = (server: NotebookServer, status: number) =>
  server.intercept(on("DELETE", (_, response) => sendText(response, status)));
const notes = { connection: "notes" };
const ended = { ...notes, ended: true, removed: true };

const newerSnapshot = ({ snapshot, ...rest }: Kept) => ({
  ...rest,
  snapshot: { ...snapshot, version: 2 },
});

describe.each(backends)("sessions in %s", (backend) => {
  let server: NotebookServer;
  let kept: ReturnType<typeof startAgent>;
  const begin = async (options: Partial<McpClientConnectionOptions> = {}) => {
    server = await startNotebookServer();
    kept = startAgent(backend, { notes: define(server, options) });
    await kept.step(add("milk"));
    kept.events.length = 0;
    server.requests.length = 0;
  };
  beforeEach(() => begin());

  test("are described for their principal, without an id and without a request", async () => {
    const [entry, ...others] = await kept.list();
    expect(others).toEqual([]);
    expect(entry).toMatchObject({
      ...{ ...notes, kind: "session", protocolVersion: "2025-11-25" },
      ...{ server: { name: "notebook", version: "1.0.0" }, tools: { count: 4 } },
    });
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

  test.each<[string, Parameters<typeof on>[1], object]>([
    ["refuses", (_, response) => sendText(response, 503), { reason: "refused", status: 503 }],
    ["never answers", () => undefined, { reason: "timeout" }],
    ["breaks off", (_, response) => void response.destroy(), { reason: "unreachable" }],
    [
      "breaks off within the answer",
      (_, response) => {
        response.writeHead(200, { "content-type": "application/json" });
        response.write('{"jsonrpc":', () => response.destroy());
      },
      { reason: "unreachable" },
    ],
    [
      "does not know ping",
      ({ message }, response) => {
        const error = { code: -32601, message: "Method not found" };
        sendJson(response, 200, { jsonrpc: "2.0", id: message.id, error });
      },
      { alive: true },
    ],
  ])("are asked for from a server that %s", async (_, answer, expected) => {
    server.intercept(on("ping", answer));
    const status = { ...notes, alive: false, ...expected };
    expect(await kept.status({ timeoutMs: 300 })).toEqual([status]);
  });

  test("list their tools anew when the list was cleared", async () => {
    await kept.clearTools();
    const before = await kept.contents();
    await kept.clearTools();
    expect(await kept.contents()).toBe(before);
    await kept.step((run) => run.tools());
    expect(server.log).toEqual(["POST tools/list"]);
    expect(server.sessionIds).toHaveLength(1);
  });

  test("are restarted: the next step has an empty one, and the model is told once", async () => {
    expect(await kept.restart()).toEqual([{ ...ended, removed: false }]);
    expect(server.liveSessions()).toBe(0);
    expect(await kept.list()).toMatchObject([{ ...notes, kind: "lost" }]);
    expect(await kept.status()).toMatchObject([{ reason: "no-session" }]);
    expect(await kept.restart()).toEqual([{ ...ended, removed: false }]);
    expect(await kept.step(isTold)).toBe(true);
    expect(await kept.step(isTold)).toBe(false);
    expect(await kept.step(notesOf)).toBe("");
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
      expect(await kept.step(notesOf)).toBe("");
      expect(server.liveSessions()).toBe(1);
      server.requests.length = 0;
      await kept.step((run) => run.tools());
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

  test("are ended with those that an earlier step has left", async () => {
    await kept.step(createNames);
    const { snapshot } = await kept.kept("notes", "b");
    await kept.change((record) => ({ ...record, ending: [snapshot] }), "notes", "a");
    const live = server.liveSessions();
    expect(await kept.end({ name: "a" })).toMatchObject([{ ended: true }]);
    expect(server.liveSessions()).toBe(live - 2);
  });

  test("are ended, and the next step starts anew, without a loss", async () => {
    expect(await kept.end()).toEqual([ended]);
    expect(server.requests).toMatchObject([
      { method: "DELETE", headers: { "mcp-session-id": server.sessionIds[0] } },
    ]);
    expect(await kept.end()).toEqual([]);
    expect(await kept.step(isTold)).toBe(false);
    expect(kept.events).toMatchObject([{ type: "started" }]);
  });

  test.each([404, 405])("are over when the server answers %i", async (status) => {
    refuseDelete(server, status);
    expect(await kept.end()).toEqual([ended]);
  });

  test("of others stay", async () => {
    await kept.step(add("of bob"), { principal: bob });
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
    await kept.change(({ snapshot, ...rest }) => ({ ...rest, snapshot: change(snapshot) }));
    expect(await kept.list()).toMatchObject([{ ...notes, kind: "invalid" }]);
    expect(await kept.status()).toMatchObject([{ reason: "no-session" }]);
    await kept.clearTools();
    expect(await kept.restart()).toEqual([{ ...ended, removed: false }]);
    expect(await kept.list()).toMatchObject([{ kind: "lost" }]);
    expect(server.requests).toEqual([]);
    expect(await kept.step(isTold)).toBe(true);

    await kept.change(({ snapshot, ...rest }) => ({ ...rest, snapshot: change(snapshot) }));
    expect(await kept.end()).toEqual([ended]);
    expect(await kept.step(isTold)).toBe(false);
  });

  test("of another URL get no request there, and are told of as lost after a restart", async () => {
    const moved = await startNotebookServer();
    const elsewhere = kept.as({ notes: define(moved) });
    expect(await elsewhere.status()).toMatchObject([{ reason: "no-session" }]);
    const undeclared = { ...notes, ended: false, reason: "undeclared" };
    expect(await elsewhere.restart()).toEqual([{ ...undeclared, removed: false }]);
    expect(await elsewhere.step(isTold)).toBe(true);
    expect(await kept.end()).toEqual([{ ...undeclared, removed: true }]);
    expect(server.requests).toEqual([]);
    expect(moved.log).not.toContain("DELETE");
  });

  test.each<[string, string | undefined, (record: Kept) => object]>([
    ["a snapshot", undefined, newerSnapshot],
    ["a snapshot under a name", "a", newerSnapshot],
    ["a format under a name", "a", (record) => ({ ...record, version: 2 })],
  ])("with %s of a later release are shown, and stay", async (_, name, change) => {
    const only = name === undefined ? {} : { name };
    if (name !== undefined) await kept.step(({ named }) => named.create(name));
    await kept.change(change, "notes", name);
    server.requests.length = 0;
    const before = await kept.kept("notes", name);
    const newer = { ...notes, ...only, ended: false, reason: "newer", removed: false };
    expect(await kept.list(only)).toMatchObject([{ ...notes, ...only, kind: "newer" }]);
    expect(await kept.restart(only)).toEqual([newer]);
    expect(await kept.end(only)).toEqual([newer]);
    await kept.clearTools(only);
    const step = kept.step(async (own) => {
      if (name === undefined) await own.tools();
      else await own.named.run(name, () => 1);
    });
    await expect(step).rejects.toMatchObject({
      code: "STATE_INVALID",
      message: expect.stringContaining("later release"),
      data: { connection: "notes", field: "version" },
    });
    expect(await kept.kept("notes", name)).toEqual(before);
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
    const sessionless = startAgent(backend, { notes: define(plain) });
    await sessionless.step((run) => run.tools());
    expect(await sessionless.list()).toMatchObject([{ kind: "sessionless" }]);
    expect(await sessionless.restart()).toEqual([ended]);
    expect(await sessionless.list()).toEqual([]);
    expect(await sessionless.step(isTold)).toBe(false);
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

const createNames = async ({ named, ...run }: Run) => {
  await run.tools();
  await named.create("a", { idleTimeoutMs: 900_000 });
  await named.create("b");
  await named.run("a", (own: Run) => own.tools());
};

const parts = (entries: readonly { connection: string; name?: string | undefined }[]) =>
  entries.map(({ connection, name = "-" }) => `${connection} ${name}`).toSorted();
const all = ["drafts -", "drafts a", "drafts b", "notes -", "notes a", "notes b"];

describe.each(backends)("several sessions in %s", (backend) => {
  async function start() {
    const servers = { notes: await startNotebookServer(), drafts: await startNotebookServer() };
    const kept = startAgent(backend, {
      notes: define(servers.notes),
      drafts: define(servers.drafts),
    });
    await kept.step(createNames);
    await kept.step(createNames, { principal: bob });
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
