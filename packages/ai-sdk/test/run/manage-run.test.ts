/** Looking after the connections of a run from inside of it. */
import { describe, expect, test } from "vitest";
import { backends, startNotebooks } from "../agent-session.ts";
import { sendText } from "../../../core/test/http-server.ts";
import { describingProgram } from "../../../sessions/test/describing-program.ts";
import { on, startNotebookServer } from "../../../sessions/test/notebook-server.ts";
import { startRuns, textOf } from "../run.ts";
import { alice, callTool } from "../step.ts";
import {
  type ConnectionRun,
  createConnectionProvider,
  currentConnections,
  defineMcpClientConnection,
  withConnections,
} from "../../src/index.ts";
import { defineMcpStdioConnection } from "../../src/stdio.ts";

const server = { name: "notebook", version: "1.0.0" };
const protocolVersion = "2025-11-25";
const notebook = (url: string, session: "stateful" | "stateless" = "stateful") =>
  defineMcpClientConnection({ url, description: "A notebook.", session });
const add = (registry: ConnectionRun<any>, connection: string, text: string) =>
  registry.call(connection, "add_note", { text });
const listed = async (registry: ConnectionRun<any>, connection: string) =>
  textOf(await registry.call(connection, "list_notes"));

describe("info", () => {
  test("says what is connected, since when, when it was used last, and of the session", async () => {
    const [stateful, plain] = [await startNotebookServer(), await startNotebookServer()];
    let time = 1_000;
    const provider = createConnectionProvider({
      connections: { notes: notebook(stateful.url), plain: notebook(plain.url, "stateless") },
      now: () => time,
    });
    const registry = provider.create({ principal: alice });
    expect(await registry.info()).toEqual([
      { connection: "notes", session: "stateful", connected: false },
      { connection: "plain", session: "stateless", connected: false },
    ]);
    expect(stateful.requests).toEqual([]);
    await registry.tools();
    time = 2_000;
    await add(registry, "notes", "milk");
    stateful.requests.length = 0;
    const info = await registry.info();
    expect(info).toEqual([
      {
        ...{ connection: "notes", session: "stateful", connected: true, kind: "session" },
        ...{ connectedSince: 1_000, lastUsedAt: 2_000, protocolVersion, server },
        tools: { count: 4, listedAt: 1_000 },
      },
      {
        ...{ connection: "plain", session: "stateless", connected: true },
        ...{ connectedSince: 1_000, lastUsedAt: 1_000, protocolVersion, server },
      },
    ]);
    expect(JSON.stringify(info)).not.toContain(stateful.sessionIds[0]);
    expect(stateful.requests).toEqual([]);
    await registry.dispose();
    await expect(registry.info()).rejects.toMatchObject({ code: "CONNECTION_UNAVAILABLE" });
  });

  test("has the revision of a stdio server that refuses the handshake of older ones", async () => {
    const description = "A server that describes itself.";
    const program = defineMcpStdioConnection({ ...describingProgram("modern"), description });
    const provider = createConnectionProvider({ connections: { program } });
    await using registry = provider.create({ principal: alice });
    expect(textOf(await registry.call("program", "describe"))).toContain("modern");
    expect(await registry.info()).toMatchObject([{ protocolVersion: "2026-07-28" }]);
  });

  test("says of a stdio server that it was used when it has answered more than the handshake", async () => {
    const description = "A server that describes itself.";
    const program = defineMcpStdioConnection({ ...describingProgram(), description });
    const provider = createConnectionProvider({ connections: { program } });
    await using registry = provider.create({ principal: alice });
    const known = { connection: "program", session: "process", protocolVersion };
    const running = { ...known, server: { name: "describing", version: "1.0.0" }, connected: true };
    await registry.client("program");
    const [connected] = await registry.info();
    expect(connected).toEqual({ ...running, connectedSince: expect.any(Number) });
    await registry.call("program", "describe");
    const [used] = await registry.info();
    expect(used).toEqual({ ...connected, lastUsedAt: expect.any(Number) });
  });

  test("of a nested run has the name of a named session", async () => {
    const { step } = await startNotebooks("carried state");
    await step(async ({ named }) => {
      await named.create("research", { connections: ["notes"] });
      await named.run("research", async (own) => {
        const [notes] = await own.info();
        expect(notes).toMatchObject({ connection: "notes", name: "research", kind: "session" });
      });
    });
  });
});

describe("status", () => {
  test("asks the servers of what is connected, and connects nothing", async () => {
    const { create, browser, cart, plain } = await startRuns();
    const registry = create();
    expect(await registry.status()).toMatchObject([
      { connection: "browser", alive: false, reason: "no-session" },
      { connection: "cart", alive: false, reason: "no-session" },
      { connection: "plain", alive: false, reason: "not-connected", connected: false },
    ]);
    expect([browser, cart, plain].flatMap(({ requests }) => requests)).toEqual([]);
    await registry.tools();
    browser.forgetSessions();
    cart.intercept(on("POST", () => undefined));
    plain.intercept(on("POST", (_, response) => sendText(response, 503)));
    expect(await registry.status({ timeoutMs: 500 })).toMatchObject([
      { connection: "browser", alive: false, reason: "lost", status: 404, connected: true },
      { connection: "cart", alive: false, reason: "timeout" },
      { connection: "plain", alive: false, reason: "refused", status: 503 },
    ]);
    expect(browser.sessionIds).toHaveLength(1);
    cart.intercept(() => "next");
    expect(await registry.status({ connection: "cart" })).toMatchObject([{ alive: true }]);
    await expect(registry.status({ connection: "x" as "cart" })).rejects.toMatchObject({
      code: "CONNECTION_INVALID",
    });
    plain.intercept(() => "next");
    expect(await registry.status({ connection: "plain" })).toMatchObject([{ alive: true }]);
    await registry.dispose();
  });

  test("asks the process of a stdio server, and starts none", async () => {
    const description = "A server that describes itself.";
    const program = defineMcpStdioConnection({ ...describingProgram(), description });
    const provider = createConnectionProvider({ connections: { program } });
    await using registry = provider.create({ principal: alice });
    const status = async () => (await registry.status({ timeoutMs: 2_000 }))[0];
    expect(await status()).toMatchObject({ alive: false, reason: "not-connected" });
    const { pid } = JSON.parse(textOf(await registry.call("program", "describe")));
    expect(await status()).toMatchObject({ alive: true });
    process.kill(pid, "SIGSTOP");
    expect(await status()).toMatchObject({ alive: false, reason: "timeout" });
    process.kill(pid, "SIGCONT");
    expect(await status()).toMatchObject({ alive: true });
  });
});

test("a client of a stdio server that is too old is that of another process", async () => {
  let time = Date.now();
  const description = "A server that describes itself.";
  const session = { maxAgeMs: 60_000 };
  const program = defineMcpStdioConnection({ ...describingProgram(), description, session });
  const provider = createConnectionProvider({ connections: { program }, now: () => time });
  await using registry = provider.create({ principal: alice });
  const pid = async () => {
    const client = await registry.client("program");
    return JSON.parse(textOf(await client.callTool({ name: "describe", arguments: {} }))).pid;
  };
  const before = await pid();
  expect(await pid()).toBe(before);
  time += 60_000;
  expect(await pid()).not.toBe(before);
});

test.each(backends)("status asks the server of a name, in %s", async (backend) => {
  const { step, server: notes } = await startNotebooks(backend);
  await step(({ named }) => named.create("research", { connections: ["notes"] }));
  const before = notes.sessionIds.length;
  await step(async ({ named }) => {
    await named.run("research", async (run) => {
      const own = { connection: "notes", name: "research" };
      expect(await run.status({ connection: "notes" })).toMatchObject([{ ...own, alive: true }]);
      notes.forgetSessions();
      expect(await run.status({ connection: "notes", timeoutMs: 1_000 })).toMatchObject([
        { ...own, alive: false, reason: "lost" },
      ]);
    });
  });
  expect(notes.sessionIds).toHaveLength(before);
});

describe.each(backends)("restart of a session in %s", (backend) => {
  test("ends it: the run goes on in another, the model is told, and the next step finds it", async () => {
    const { step, server: notes, events } = await startNotebooks(backend);
    await step((registry) => add(registry, "notes", "old"));
    await step(async (registry) => {
      const tools = await registry.tools();
      expect(await registry.restart("notes")).toEqual({
        connection: "notes",
        ended: true,
        status: 200,
      });
      expect((await registry.info())[0]).toMatchObject({ kind: "lost" });
      const result = await callTool(tools, "notes__add_note", { text: "new" });
      expect(textOf(result)).toContain("1 notes");
      expect(result).toMatchObject({ _meta: { "durable-mcp/sessionReplaced": true } });
      expect(await listed(registry, "notes")).toBe("new");
    });
    expect(events.map(({ type }) => type)).toContain("recovered");
    expect(events.map(({ type }) => type)).not.toContain("conflict");
    await step(async (registry) => expect(await listed(registry, "notes")).toBe("new"));
    expect(notes.sessionIds).toHaveLength(2);
    expect(notes.liveSessions()).toBe(1);
  });

  test("without another use leaves none for the next step", async () => {
    const { step, server: notes } = await startNotebooks(backend);
    await step((registry) => add(registry, "notes", "old"));
    await step(async (registry) => void (await registry.restart("notes")));
    expect(notes.liveSessions()).toBe(0);
    await step(async (registry) => expect(await listed(registry, "notes")).toBe(""));
  });
});

test("restart of a session that cannot be ended begins another all the same", async () => {
  const { create, browser } = await startRuns();
  const registry = create();
  await add(registry, "browser", "old");
  browser.intercept(on("DELETE", (_, response) => sendText(response, 503)));
  expect(await registry.restart("browser")).toMatchObject({ ended: false, reason: "refused" });
  expect(await listed(registry, "browser")).toBe("");
  expect(await registry.restart("cart")).toEqual({ connection: "cart", ended: true });
  await registry.dispose();
});

test("restart of a stateless connection connects anew", async () => {
  const { create, plain } = await startRuns();
  const registry = create();
  await registry.call("plain", "list_notes");
  const before = plain.log.length;
  expect(await registry.restart("plain")).toEqual({ connection: "plain", ended: true });
  await registry.call("plain", "list_notes");
  expect(plain.log.slice(before)).toContain("POST initialize");
  await registry.dispose();
});

test("clearTools has the next listing ask the server", async () => {
  const { step, server: notes } = await startNotebooks("carried state");
  await step((registry) => registry.tools());
  await step(async (registry) => {
    await registry.tools();
    expect(notes.log.filter((line) => line === "POST tools/list")).toHaveLength(1);
    await registry.clearTools("notes");
    expect((await registry.info())[0]).not.toHaveProperty("tools");
    await registry.tools();
    expect(notes.log.filter((line) => line === "POST tools/list")).toHaveLength(2);
  });
});

test("a run inside looks after what it inherits, and an ephemeral run after nothing", async () => {
  const { create, provider, browser } = await startRuns();
  await create().enter(async (registry) => {
    await add(registry, "browser", "old");
    await withConnections({}, async () => {
      await currentConnections().restart("browser");
      expect(await listed(currentConnections(), "browser")).toBe("");
    });
    expect(await listed(registry, "browser")).toBe("");
  });
  browser.requests.length = 0;
  const ephemeral = currentConnections({ ephemeral: true, provider, principal: alice });
  expect(await ephemeral.info()).toMatchObject([{ connected: false }, {}, {}]);
  expect(await ephemeral.status({ connection: "browser" })).toMatchObject([{ alive: false }]);
  expect(browser.requests).toEqual([]);
  await expect(ephemeral.clearTools("x" as "browser")).rejects.toMatchObject({
    code: "CONNECTION_INVALID",
  });
});
