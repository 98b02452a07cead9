import { createMemoryStore } from "@durable-mcp/core";
import { encryptStore } from "@durable-mcp/core/sealing";
import { describe, expect, test, vi } from "vitest";
import { startProcess } from "../durable-process.ts";
import { createFingerprintingStore } from "../../../sessions/test/fingerprinting-store.ts";
import { on, startNotebookServer } from "../../../sessions/test/notebook-server.ts";
import { alice, bob, callForText, openAndList } from "../step.ts";
import type { ConnectionContext, SessionOwner } from "../../src/index.ts";

const addNote = (tools: any, text: string) => callForText(tools, "notes__add_note", { text });
const aliceOwner = '["user","https://idp.test","alice"]';
const hour = 3_600_000;

async function startIdle(options: Parameters<typeof startProcess>[2] = {}) {
  const server = await startNotebookServer();
  let time = Date.now();
  const now = () => time;
  const store = createMemoryStore({ now });
  const process = startProcess(server, store, { now, ...options });
  await process.sessions.run("chat", { principal: alice }, async (run) =>
    addNote(await run.tools(), "a"),
  );
  await process.sessions.run("chat", { principal: bob }, async (run) =>
    addNote(await run.tools(), "b"),
  );
  server.requests.length = 0;
  return {
    server,
    store,
    now,
    pass: (ms: number) => {
      time += ms;
    },
    ...process,
  };
}

const tokenOf = ({ principal }: ConnectionContext) => ({
  token: (principal as { id: string }).id,
});
const getToken = () => Promise.reject(new Error("nobody is there to log in"));

const asOwner = ({ principal }: { principal: typeof alice | undefined }) =>
  principal && { principal };

async function startFingerprinted() {
  const server = await startNotebookServer();
  let time = Date.now();
  const now = () => time;
  const plain = createMemoryStore({ now });
  const { sessions } = startProcess(server, createFingerprintingStore(plain), { now });
  await sessions.run("chat", { principal: alice }, async (run) => addNote(await run.tools(), "a"));
  const ofAlice = (await sessions.admin.list()).sessions[0]?.owner;
  await sessions.run("chat", { principal: bob }, async (run) => addNote(await run.tools(), "b"));
  const pass = () => {
    time += hour;
  };
  return { server, plain, sessions, ofAlice, pass };
}

test("the operator sees the sessions of all principals, without their ids", async () => {
  const { sessions, server } = await startIdle();
  const page = await sessions.admin.list();
  expect(page.sessions).toHaveLength(2);
  expect(page.sessions[0]).toMatchObject({
    sessionId: "chat",
    connection: "notes",
    owner: aliceOwner,
    principal: alice,
  });
  for (const id of server.sessionIds) expect(JSON.stringify(page)).not.toContain(id);
});

describe("the verbs of an operator", () => {
  const one = { sessionId: "chat", connection: "notes" };
  const [ofAlice, ofBob] = ["alice", "bob"].map((id) => `["user","https://idp.test","${id}"]`);
  const verbs = ["status", "restart", "clearTools", "end"] as const;

  test("work on the sessions of all principals, each for its own", async () => {
    const { server, sessions } = await startIdle({ connection: { auth: { getToken: tokenOf } } });
    await sessions.run("other", { principal: alice }, (run) => run.tools());
    server.requests.length = 0;
    const alive = { connection: "notes", alive: true };
    const asked = await sessions.admin.status("chat", { timeoutMs: 2_000 });
    expect(asked).toEqual([
      { ...alive, owner: ofAlice },
      { ...alive, owner: ofBob },
    ]);
    const tokens = server.requests.map(({ headers }) => headers.authorization);
    expect(new Set(tokens)).toEqual(new Set(["Bearer alice", "Bearer bob"]));

    expect(await sessions.admin.clearTools("chat")).toEqual([
      { ...one, owner: ofAlice, cleared: true },
      { ...one, owner: ofBob, cleared: true },
    ]);
    const hasTools = async () =>
      (await sessions.admin.list({ sessionId: "chat" })).sessions.map((each) => "tools" in each);
    expect(await hasTools()).toEqual([false, false]);

    const restarted = await sessions.admin.restart("chat");
    expect(restarted).toMatchObject([{ ended: true }, { ended: true }]);
    expect(server.liveSessions()).toBe(1);
    const { sessions: lost } = await sessions.admin.list({ sessionId: "chat" });
    expect(lost).toMatchObject([{ kind: "lost" }, { kind: "lost" }]);

    expect(await sessions.admin.end("chat")).toEqual([
      { ...one, owner: ofAlice, ended: true, removed: true },
      { ...one, owner: ofBob, ended: true, removed: true },
    ]);
    const left = [{ sessionId: "other", kind: "session" }];
    expect((await sessions.admin.list()).sessions).toMatchObject(left);
  });

  test("keep to a principal, a connection and a name", async () => {
    const { server, sessions } = await startIdle();
    await sessions.run("chat", { principal: bob }, async (run) => {
      await run.named.create("research");
      await run.named.run("research", async (named) => addNote(await named.tools(), "c"));
    });
    const { admin } = sessions;
    expect((await admin.list({ principal: bob, name: "research" })).sessions).toHaveLength(1);
    const ended = await admin.end("chat", { connection: "notes", name: "research" });
    expect(ended).toMatchObject([{ name: "research", owner: ofBob, removed: true }]);
    expect(await admin.end("chat", { principal: alice })).toMatchObject([{ owner: ofAlice }]);
    expect(server.liveSessions()).toBe(1);
    expect((await admin.list()).sessions).toMatchObject([{ owner: ofBob }]);
  });

  test("refuse a principal that is missing, and a selection that is none", async () => {
    const { server, sessions } = await startIdle();
    const { admin } = sessions;
    const missing = { principal: undefined } as object;
    const refusals: [object | undefined, string | { shared: string }, object][] = [
      [missing, "chat", { code: "PRINCIPAL_REQUIRED" }],
      [undefined, "", { data: { field: "sessionId" } }],
      [undefined, { shared: "" }, { data: { field: "shared" } }],
      [{ name: "research" }, { shared: "research" }, { data: { field: "name" } }],
      [{ connection: "nots" }, "chat", { data: { field: "connection" } }],
    ];
    for (const [selection, of, refusal] of refusals) {
      for (const verb of verbs) {
        await expect.soft(admin[verb](of, selection), verb).rejects.toMatchObject(refusal);
      }
      const listing = admin.list({ ...selection, sessionId: of });
      await expect.soft(listing).rejects.toMatchObject(refusal);
    }
    expect(server.log).toEqual([]);
    expect((await admin.list()).sessions).toHaveLength(2);
  });

  test("leave alone what nobody may use; `end` removes its record", async () => {
    const inner = createMemoryStore();
    const [current, lost, fingerprintKey] = [1, 2, 3].map((byte) => new Uint8Array(32).fill(byte));
    const openWith = (key: Uint8Array) =>
      encryptStore(inner, { keys: { current: key }, fingerprintKey: fingerprintKey! });
    const server = await startNotebookServer();
    const { sessions } = startProcess(server, openWith(lost!));
    await sessions.run("chat", { principal: alice }, async (run) =>
      addNote(await run.tools(), "a"),
    );
    server.requests.length = 0;
    vi.spyOn(console, "warn").mockReturnValue(undefined);
    const { admin } = startProcess(server, openWith(current!)).sessions;
    const kept = JSON.stringify(await inner.list({ limit: 9 }));
    const reason = "authorization-required";
    expect(await admin.status("chat")).toMatchObject([{ alive: false, reason }]);
    expect(await admin.restart("chat")).toMatchObject([{ ended: false, removed: false }]);
    expect(await admin.clearTools("chat")).toMatchObject([{ cleared: false }]);
    expect(JSON.stringify(await inner.list({ limit: 9 }))).toBe(kept);
    expect(await admin.end("chat")).toMatchObject([{ ended: false, removed: true }]);
    expect((await inner.list({ limit: 9 })).records).toEqual([]);
    expect(server.log).toEqual([]);
  });

  test("use a session as `authorize` says, and refuse the principal of somebody else", async () => {
    const { server, sessions, ofAlice: hidden } = await startFingerprinted();
    const { admin } = sessions;
    server.requests.length = 0;
    const authorize = ({ owner }: SessionOwner) =>
      owner === hidden
        ? { principal: alice, headers: { authorization: "Bearer operator" } }
        : undefined;
    const asked = await admin.status("chat", { authorize });
    expect(asked).toMatchObject([{ alive: true, owner: hidden }, { alive: false }]);
    expect(await admin.clearTools("chat", { authorize })).toMatchObject([
      { cleared: true },
      { cleared: false },
    ]);
    const restarted = await admin.restart("chat", { authorize });
    expect(restarted).toMatchObject([{ ended: true }, { ended: false, removed: false }]);
    expect(server.log).toEqual(["POST ping", "DELETE"]);
    for (const { headers } of server.requests)
      expect(headers.authorization).toBe("Bearer operator");
    for (const verb of ["status", "clearTools", "end"] as const) {
      const acts = await admin[verb]("chat", { authorize: () => ({ principal: bob }) });
      expect(acts.map(({ owner }) => owner)).not.toContain(hidden);
    }
    expect((await admin.list()).sessions).toMatchObject([{ owner: hidden, kind: "lost" }]);
    const eve = { ...alice, id: "eve" };
    for (const verb of verbs) {
      const act = admin[verb]("chat", { authorize: () => ({ principal: eve }) });
      await expect(act).rejects.toMatchObject({ data: { field: "authorize" } });
    }
  });

  test("leave a record of a later release as it is", async () => {
    const { sessions, store } = await startIdle();
    const [{ key, value, owner, revision }] = (await store.list({ limit: 1 })).records as any;
    await store.put(key, { ...value, version: 2 }, revision, { owner });
    const newer = { ended: false, reason: "newer", removed: false };
    const { admin } = sessions;
    expect(await admin.end("chat", { principal: alice })).toMatchObject([newer]);
    const ofNobody = { principal: alice, authorize: () => undefined };
    expect(await admin.end("chat", ofNobody)).toMatchObject([newer]);
  });
});

describe("a sweep", () => {
  test("ends what was idle, as its owner, and leaves the rest", async () => {
    const { sessions, server, pass } = await startIdle();
    pass(hour);
    await sessions.run("chat", { principal: bob }, (run) => run.tools());
    pass(hour / 2);
    const { sessions: swept, more } = await sessions.admin.sweep({
      idleForMs: hour,
      authorize: asOwner,
    });
    expect(more).toBe(false);
    expect(swept).toEqual([
      { sessionId: "chat", connection: "notes", owner: aliceOwner, ended: true, removed: true },
    ]);
    expect(server.log).toEqual(["DELETE"]);
    expect(server.liveSessions()).toBe(1);
    expect((await sessions.admin.list()).sessions).toHaveLength(1);
  });

  test("without authorization only removes the records", async () => {
    const { sessions, server, pass } = await startIdle();
    pass(hour);
    const { sessions: swept } = await sessions.admin.sweep({ idleForMs: hour });
    expect(swept).toMatchObject([
      { ended: false, removed: true },
      { ended: false, removed: true },
    ]);
    expect(server.log).toEqual([]);
    expect((await sessions.admin.list()).sessions).toEqual([]);
  });

  test("works on each session once, however many sweep", async () => {
    const { sessions, server, store, now, pass } = await startIdle();
    pass(hour);
    const others = [1, 2, 3].map(() => startProcess(server, store, { now }).sessions);
    const sweeps = [sessions, ...others].map(({ admin }) =>
      admin.sweep({ idleForMs: hour, authorize: asOwner }),
    );
    const swept = (await Promise.all(sweeps)).flatMap((sweep) => sweep.sessions);
    expect(swept).toHaveLength(2);
    expect(server.log).toEqual(["DELETE", "DELETE"]);
  });

  test("leaves a session alone that is opened between its look and its claim", async () => {
    const { sessions, server, pass } = await startIdle();
    pass(hour);
    const leases: AsyncDisposable[] = [];
    const { sessions: swept } = await sessions.admin.sweep({
      idleForMs: hour,
      authorize: async ({ principal }) => {
        leases.push(await openAndList(sessions, "chat", { principal: principal! }));
        return { principal: principal! };
      },
    });
    expect(swept).toEqual([]);
    expect(server.liveSessions()).toBe(2);
    for (const lease of leases) await lease[Symbol.asyncDispose]();
  });

  test("keeps what could not be ended once, and then removes it", async () => {
    const { sessions, server, pass } = await startIdle();
    server.intercept(on("DELETE", (_, response) => void response.writeHead(503).end()));
    const options = { idleForMs: hour, authorize: asOwner };
    pass(hour);
    const kept = { ended: false, removed: false, reason: "refused", status: 503 };
    expect((await sessions.admin.sweep(options)).sessions).toMatchObject([kept, kept]);
    expect((await sessions.admin.sweep(options)).sessions).toEqual([]);
    pass(hour);
    const removed = { ...kept, removed: true };
    expect((await sessions.admin.sweep(options)).sessions).toMatchObject([removed, removed]);
  });

  test("takes at most `limit`, and says that there is more", async () => {
    const { sessions, pass } = await startIdle();
    pass(hour);
    const first = await sessions.admin.sweep({ idleForMs: hour, limit: 1 });
    expect(first).toMatchObject({ more: true, sessions: [{ removed: true }] });
    const second = await sessions.admin.sweep({ idleForMs: hour, limit: 1 });
    expect(second).toMatchObject({ more: false, sessions: [{ removed: true }] });
  });

  const own = { "X-Tenant": "a", "X-Kept": "b" };
  test.each([
    ["values", own],
    ["a function", () => Promise.resolve(own)],
  ])("sends the headers it is given, over those of the connection: %s", async (_, headers) => {
    const { server, pass, store, now } = await startIdle();
    pass(hour);
    const sweeper = startProcess(server, store, {
      now,
      connection: { auth: { getToken }, headers },
    });
    const { sessions: swept } = await sweeper.sessions.admin.sweep({
      idleForMs: hour,
      limit: 1,
      authorize: ({ principal }) => ({
        principal: principal!,
        headers: { authorization: "Bearer sweeper", "x-tenant": "c" },
      }),
    });
    expect(swept).toMatchObject([{ ended: true }]);
    expect(server.requests.at(-1)?.headers).toMatchObject({
      authorization: "Bearer sweeper",
      "x-tenant": "c",
      "x-kept": "b",
    });
  });

  test("refuses the principal of somebody else", async () => {
    const { sessions, server, pass } = await startIdle();
    pass(hour);
    const eve = { type: "user", issuer: "https://idp.test", id: "eve" } as const;
    const sweep = sessions.admin.sweep({ idleForMs: hour, authorize: () => ({ principal: eve }) });
    await expect(sweep).rejects.toMatchObject({ code: "CONNECTION_INVALID" });
    expect(server.log).toEqual([]);
  });

  test("refuses a time that is too short for what is in use", async () => {
    const { sessions } = await startIdle({ touchIntervalMs: 1_000 });
    for (const idleForMs of [2_999, Number.NaN]) {
      await expect(sessions.admin.sweep({ idleForMs })).rejects.toMatchObject({
        code: "CONNECTION_INVALID",
        data: { field: "idleForMs" },
      });
    }
    expect((await sessions.admin.sweep({ idleForMs: 3_000 })).sessions).toEqual([]);
  });
});

describe("a store that keeps a fingerprint in the principal's place", () => {
  test("is swept with the principal that authorize knows", async () => {
    const { server, sessions, ofAlice, pass } = await startFingerprinted();
    pass();
    const named: unknown[] = [];
    const { sessions: swept } = await sessions.admin.sweep({
      idleForMs: hour,
      authorize: ({ owner, principal }) => {
        named.push(principal);
        return { principal: owner === ofAlice ? alice : bob };
      },
    });
    expect(named).toEqual([undefined, undefined]);
    expect(swept).toMatchObject([
      { ended: true, removed: true },
      { ended: true, removed: true },
    ]);
    expect(server.liveSessions()).toBe(0);
  });

  test("refuses the principal of somebody else", async () => {
    const { server, sessions, pass } = await startFingerprinted();
    pass();
    const eve = { type: "user", issuer: "https://idp.test", id: "eve" } as const;
    await expect(
      sessions.admin.sweep({ idleForMs: hour, authorize: () => ({ principal: eve }) }),
    ).rejects.toMatchObject({ code: "CONNECTION_INVALID" });
    expect(server.liveSessions()).toBe(2);
  });

  test("lets principals see, restart, end and delete what is theirs", async () => {
    const { server, plain, sessions } = await startFingerprinted();
    const use = { principal: alice };
    expect((await sessions.list({ ...use, sessionId: "chat" })).sessions).toHaveLength(1);
    await sessions.clearTools("chat", use);
    expect((await sessions.list({ ...use, sessionId: "chat" })).sessions).not.toMatchObject([
      { tools: {} },
    ]);
    expect(await sessions.restart("chat", use)).toMatchObject([{ ended: true }]);
    expect(await sessions.end("chat", use)).toMatchObject([{ removed: true }]);
    expect(await sessions.endAll({ principal: bob })).toMatchObject([{ ended: true }]);
    expect(server.liveSessions()).toBe(0);
    expect((await plain.list({ limit: 10 })).records).toEqual([]);
  });
});

test("a sweep takes no connection for declared that only has a name that objects have", async () => {
  const { sessions, store, pass } = await startIdle();
  const [stored] = (await store.list({ limit: 1 })).records;
  const [agent, chat, , ...principal] = JSON.parse(stored!.key) as string[];
  const key = JSON.stringify([agent, chat, "constructor", ...principal]);
  await store.put(key, stored!.value, null, { owner: stored!.owner });
  pass(hour);
  const { sessions: swept } = await sessions.admin.sweep({ idleForMs: hour, authorize: asOwner });
  const undeclared = { ended: false, removed: true, reason: "undeclared" };
  expect(swept).toContainEqual(
    expect.objectContaining({ connection: "constructor", ...undeclared }),
  );
  expect(swept).toHaveLength(3);
});
