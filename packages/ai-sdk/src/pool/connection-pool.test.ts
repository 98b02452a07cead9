import { createMemoryStore } from "@durable-mcp/core";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { ClientEvent } from "../../test/collect-events.ts";
import { type NotebookServer, startNotebookServer } from "../../test/notebook-server.ts";
import { alice, bob, callForText, callTool, startApplication } from "../../test/step.ts";
import { createDurableSessions } from "../durable/create-durable-sessions.ts";
import type { McpClientConnectionOptions } from "../connection/connection-options.ts";
import { defineMcpClientConnection } from "../connection/define-connection.ts";
import type { ConnectionPoolOptions } from "./connection-pool.ts";
import { currentConnections, withConnections } from "../runs/current-connections.ts";
import type { Principal } from "@durable-mcp/core";

const handshakes = ({ log }: NotebookServer) =>
  log.filter((line) => line === "POST initialize").length;
const answered = ["POST tools/call"];

/** An application with a pool, on a notebook server; closed after the test. */
async function startPooled(
  options: Partial<McpClientConnectionOptions> = {},
  pool: ConnectionPoolOptions = {},
  now: () => number = Date.now,
) {
  const server = await startNotebookServer();
  const notes = defineMcpClientConnection({
    url: server.url,
    description: "A notebook.",
    session: "stateless",
    ...options,
  });
  const { provider, clientEvents } = startApplication({ notes }, { pool, now });
  opened.push(() => provider.shutdown());
  const store = createMemoryStore();
  const sessions = createDurableSessions({ provider, store });
  return {
    server,
    provider,
    store,
    sessions,
    /** What the pool did since the last look. */
    takePool: () => clientEvents.splice(0).map(poolAction),
    /** One run that calls one tool. */
    run: (sessionId: string, principal: Principal = alice, tool = "list_notes") =>
      sessions.run(sessionId, { principal }, ({ tools }) =>
        callTool(tools, `notes__${tool}`, { text: "a" }),
      ),
  };
}

function poolAction(event: ClientEvent): string {
  return event.action === "closed" ? `closed: ${event.reason}` : event.action;
}

const listNotes = () => currentConnections().call("notes", "list_notes");
const opened: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of opened.splice(0)) await close();
});

describe("a pool", () => {
  test("keeps the client of a stateless connection between the runs of one agent session", async () => {
    const { server, run, takePool } = await startPooled();
    await run("chat");
    expect(takePool()).toEqual(["miss", "opened"]);
    server.requests.length = 0;
    await run("chat");
    expect(server.log).toEqual(["POST tools/list", ...answered]);
    expect(takePool()).toEqual(["hit"]);
  });

  test("tells of the runs inside a run, which find its client", async () => {
    const { sessions, takePool } = await startPooled();
    for (const first of [["miss", "opened"], ["hit"]]) {
      await sessions.run("chat", { principal: alice }, async () => {
        await listNotes();
        await withConnections({}, listNotes);
        await Promise.all([withConnections({}, listNotes), listNotes()]);
      });
      expect(takePool()).toEqual([...first, "hit", "hit"]);
    }
  });

  test("keeps nothing unless it is asked to", async () => {
    const server = await startNotebookServer();
    const notes = defineMcpClientConnection({ url: server.url, description: "A notebook." });
    const { provider, clientEvents } = startApplication({ notes });
    const sessions = createDurableSessions({ provider, store: createMemoryStore() });
    for (const _ of [1, 2]) {
      await sessions.run("chat", { principal: alice }, ({ tools }) =>
        callTool(tools, "notes__list_notes"),
      );
    }
    expect(handshakes(server)).toBe(2);
    const each = ["miss", "opened", "closed: run-over"];
    expect(clientEvents.map(poolAction)).toEqual([...each, ...each]);
  });

  test.each([
    ["agent sessions", "chat", "other chat", alice, alice],
    ["principals", "chat", "chat", alice, bob],
  ])("shares no client between %s", async (_, first, second, user, otherUser) => {
    const { server, run, takePool } = await startPooled();
    await run(first, user);
    await run(second, otherUser);
    expect(handshakes(server)).toBe(2);
    expect(takePool()).toEqual(["miss", "opened", "miss", "opened"]);
  });

  test("shares no client between stores, and none between agents", async () => {
    const { server, provider, store, run } = await startPooled();
    await run("chat");
    for (const options of [{ store: createMemoryStore() }, { store, agent: "other" }]) {
      const others = createDurableSessions({ provider, ...options });
      await others.run("chat", { principal: alice }, ({ tools }) =>
        callTool(tools, "notes__list_notes"),
      );
    }
    expect(handshakes(server)).toBe(3);
  });

  test("goes on in the stored session of a stateful connection", async () => {
    const { server, run, takePool } = await startPooled({ session: "stateful" });
    await run("chat", alice, "add_note");
    server.requests.length = 0;
    await run("chat");
    expect(server.log).toEqual(answered);
    expect(server.sessionIds).toHaveLength(1);
    expect(takePool()).toEqual(["miss", "opened", "hit"]);
  });

  test("does not go on in a session that another process has replaced", async () => {
    const { server, provider, store, run, takePool } = await startPooled({ session: "stateful" });
    await run("chat", alice, "add_note");
    const notes = defineMcpClientConnection({
      url: server.url,
      description: "A notebook.",
      session: "stateful",
    });
    const elsewhere = startApplication({ notes });
    const others = createDurableSessions({ provider: elsewhere.provider, store });
    await others.restart("chat", { principal: alice });
    await others.run("chat", { principal: alice }, ({ tools }) =>
      callTool(tools, "notes__add_note", { text: "theirs" }),
    );
    takePool();
    const text = await createDurableSessions({ provider, store }).run(
      "chat",
      { principal: alice },
      ({ tools }) => callForText(tools, "notes__list_notes"),
    );
    expect(text).toBe("theirs");
    const { content } = await run("chat");
    expect(content[0].text).toBe("theirs");
    expect(takePool()).toContain("closed: stale");
    expect(server.sessionIds).toHaveLength(2);
  });

  test("saves, in the store of the run, a session that took a lost one's place", async () => {
    const { server, run, sessions } = await startPooled({ session: "stateful" });
    await run("chat", alice, "add_note");
    await run("chat", alice, "add_note");
    server.forgetSessions();
    await run("chat", alice, "add_note");
    const [status] = await sessions.status("chat", { principal: alice });
    expect(status).toEqual({ connection: "notes", alive: true });
    const { content } = await run("chat");
    expect(content[0].text).toBe("a");
    expect(server.sessionIds).toHaveLength(2);
  });

  test("is used by plain state under the agent session's id, and commits", async () => {
    const { server, provider } = await startPooled({ session: "stateful" });
    let session: { state?: unknown } = {};
    for (const sessionId of ["chat", "chat", undefined]) {
      const registry = provider.create({ state: session.state, principal: alice, sessionId });
      await callTool(await registry.tools(), "notes__add_note", { text: "a" });
      await registry.dispose();
      session = structuredClone(provider.commit(registry, session));
    }
    expect(server.sessionIds).toHaveLength(1);
    const lost = provider.create({ state: {}, principal: alice, sessionId: "chat" });
    expect(await callForText(await lost.tools(), "notes__list_notes")).toBe("");
    await lost.dispose();
  });

  test("keeps max clients, and gives up the one that was used longest ago", async () => {
    const { run, takePool } = await startPooled({}, { max: 2 });
    await run("a");
    await run("b");
    await run("a");
    await run("c");
    await vi.waitFor(() => expect(takePool()).toContain("closed: max"));
    await run("a");
    expect(takePool()).toEqual(["hit"]);
    await run("b");
    expect(takePool()[0]).toBe("miss");
  });

  test("holds max under load", async () => {
    const { server, run, takePool } = await startPooled({}, { max: 5 });
    const names = Array.from({ length: 40 }, (_, index) => `chat ${index}`);
    await Promise.all(names.map((name) => run(name)));
    expect(handshakes(server)).toBe(40);
    const actions: string[] = [];
    await vi.waitFor(() => {
      actions.push(...takePool());
      expect(actions.filter((action) => action === "closed: max")).toHaveLength(35);
    }, 10_000);
    expect(actions.filter((action) => action === "opened")).toHaveLength(40);
  });

  test("gives each of two runs at once a client, and keeps one", async () => {
    const { server, run, takePool } = await startPooled();
    await Promise.all([run("chat"), run("chat")]);
    expect(handshakes(server)).toBe(2);
    await vi.waitFor(() => expect(takePool()).toContain("closed: max"));
    await run("chat");
    expect(handshakes(server)).toBe(2);
  });

  test("closes what was idle for keepAliveMs", async () => {
    const { run, takePool } = await startPooled({}, { keepAliveMs: 20 });
    await run("chat");
    const actions: string[] = [];
    await vi.waitFor(() => {
      actions.push(...takePool());
      expect(actions).toEqual(["miss", "opened", "closed: idle"]);
    });
    await run("chat");
    expect(takePool()).toEqual(["miss", "opened"]);
  });

  test("asks the server after a pause, and recovers a session that it lost meanwhile", async () => {
    let time = Date.now();
    const { server, run, takePool } = await startPooled(
      { session: "stateful" },
      { checkAfterMs: 10_000 },
      () => time,
    );
    await run("chat", alice, "add_note");
    time += 9_999;
    server.requests.length = 0;
    await run("chat", alice, "add_note");
    expect(server.log).toEqual(answered);
    time += 10_000;
    server.forgetSessions();
    server.requests.length = 0;
    const result = await run("chat", alice, "add_note");
    expect(server.log.filter((line) => line === "POST ping")).toHaveLength(2);
    expect(server.log.filter((line) => line === "POST tools/call")).toHaveLength(1);
    expect(result).toHaveProperty("_meta", { "durable-mcp/sessionReplaced": true });
    expect(takePool()).toEqual(["miss", "opened", "hit", "hit"]);
  });

  test("gives up a client whose server does not answer the check", async () => {
    let time = Date.now();
    const { server, run, takePool } = await startPooled(
      { session: "stateful" },
      { checkAfterMs: 1 },
      () => time,
    );
    await run("chat");
    time += 1;
    let refused = 0;
    server.intercept((_, response) => {
      if (refused > 0) return "next";
      refused += 1;
      return void response.writeHead(503).end();
    });
    await run("chat");
    expect(refused).toBe(1);
    expect(takePool()).toEqual([...["miss", "opened"], ...["closed: unhealthy", "miss", "opened"]]);
    expect(server.sessionIds).toHaveLength(1);
  });

  test("does not keep a client with a call that the run left behind", async () => {
    const { server, sessions, takePool, run } = await startPooled();
    let left: Promise<unknown> | undefined;
    await sessions.run("chat", { principal: alice }, async ({ tools }) => {
      left = callTool(tools, "notes__wait").catch((error: unknown) => error);
      await vi.waitFor(() => expect(server.waits).toEqual(["started"]));
    });
    await left;
    expect(takePool()).toEqual(["miss", "opened", "closed: busy"]);
    await run("chat");
    expect(takePool()).toEqual(["miss", "opened"]);
  });

  test.each(["stateless", "stateful"] as const)(
    "keeps no client of a %s connection with reuse: false",
    async (session) => {
      const { server, run, takePool } = await startPooled({ session, reuse: false });
      await run("chat");
      await run("chat");
      const own = ["miss", "opened", "closed: run-over"];
      expect(takePool()).toEqual([...own, ...own]);
      // A session itself goes on. Without one each client is closed.
      expect(handshakes(server)).toBe(session === "stateful" ? 1 : 2);
      const closed = server.log.filter((line) => line === "DELETE");
      expect(closed).toHaveLength(session === "stateful" ? 0 : 2);
    },
  );

  test("does not keep a client whose fetch another client has", async () => {
    const { sessions, takePool } = await startPooled();
    await sessions.run("chat", { principal: alice }, async ({ registry }) => {
      registry.fetch("notes");
      await registry.client("notes");
    });
    expect(takePool()).toContain("closed: busy");
  });

  test("is of no use to what an earlier run has left", async () => {
    const { sessions, run, server } = await startPooled();
    const earlier = await sessions.run(
      "chat",
      { principal: alice },
      async ({ tools, registry }) => ({
        tools,
        client: await registry.client("notes"),
      }),
    );
    await run("chat");
    server.requests.length = 0;
    const refusal = { code: "CONNECTION_UNAVAILABLE", data: { connection: "notes" } };
    await expect(callTool(earlier.tools, "notes__list_notes")).rejects.toMatchObject(refusal);
    const left = earlier.client.callTool({ name: "list_notes" });
    await expect(left).rejects.toMatchObject(refusal);
    expect(server.requests).toEqual([]);
  });

  test("has headers and tokens asked for by each run", async () => {
    let asked = 0;
    const { run, server } = await startPooled({
      headers: { "x-run": () => `run ${(asked += 1)}` },
    });
    await run("chat");
    await run("chat");
    expect(server.requests.at(-1)?.headers["x-run"]).toBe("run 2");
    expect(asked).toBe(2);
  });

  test("gives back what a run has not used, and opens nothing for it", async () => {
    const { sessions, run, takePool, server } = await startPooled({ session: "stateful" });
    await run("chat");
    takePool();
    server.requests.length = 0;
    await sessions.run("chat", { principal: alice }, () => undefined);
    await run("chat");
    expect(server.log).toEqual(answered);
  });

  test("is closed by shutdown of the provider", async () => {
    const { provider, run, takePool } = await startPooled();
    await run("chat");
    takePool();
    await provider.shutdown();
    expect(takePool()).toEqual(["closed: shutdown"]);
    await expect(run("chat")).rejects.toMatchObject({ code: "CONNECTION_UNAVAILABLE" });
  });

  test.each([{ max: -1 }, { keepAliveMs: 1.5 }, { checkAfterMs: Number.NaN }])(
    "is refused with %j",
    (pool) => {
      const field = `pool.${Object.keys(pool)[0]}`;
      expect(() => startApplication({}, { pool })).toThrow(
        expect.objectContaining({ code: "CONNECTION_INVALID", data: { field } }),
      );
    },
  );
});
