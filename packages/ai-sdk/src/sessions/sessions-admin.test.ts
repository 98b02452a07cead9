import { createMemoryStore } from "@durable-mcp/core";
import { describe, expect, test } from "vitest";
import { startProcess } from "../../test/durable-process.ts";
import { createFingerprintingStore } from "../../test/fingerprinting-store.ts";
import { on, startNotebookServer } from "../../test/notebook-server.ts";
import { alice, bob, callForText } from "../../test/step.ts";

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

describe("a sweep", () => {
  test("ends what was idle, as its owner, and leaves the rest", async () => {
    const { sessions, server, pass } = await startIdle();
    pass(hour);
    await sessions.run("chat", { principal: bob }, () => undefined);
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
        leases.push(await sessions.open("chat", { principal: principal! }));
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
