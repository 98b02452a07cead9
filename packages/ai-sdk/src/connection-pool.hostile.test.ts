import { setTimeout as wait } from "node:timers/promises";
import { createMemoryStore } from "@durable-mcp/core";
import { afterEach, describe, expect, test, vi } from "vitest";
import { createHeldStore } from "../test/held-store.ts";
import { type NotebookServer, on, startNotebookServer } from "../test/notebook-server.ts";
import { alice, callForText, callTool, startApplication } from "../test/step.ts";
import type { ConnectionEvent } from "./connection-event.ts";
import type { ConnectionPoolOptions } from "./connection-pool.ts";
import { createDurableSessions } from "./create-durable-sessions.ts";
import { defineMcpClientConnection, type McpClientConnectionOptions } from "./define-connection.ts";

const user = { principal: alice };

/** Durable sessions on a provider with a pool; shut down after the test. */
function startPool(
  connections: Parameters<typeof startApplication>[0],
  pool: ConnectionPoolOptions = {},
  now: () => number = Date.now,
) {
  const { provider, events } = startApplication(connections, { pool, now });
  opened.push(() => provider.shutdown());
  const held = createHeldStore(createMemoryStore());
  const { store } = held;
  const sessions = createDurableSessions({ provider, store, onEvent: () => undefined });
  return {
    provider,
    sessions,
    held,
    /** What the pool did since the last look. */
    takePool: () => events.splice(0).flatMap(poolAction),
    run: (tool = "list_notes") =>
      sessions.run("chat", user, ({ tools }) => callTool(tools, `notes__${tool}`, { text: "a" })),
  };
}

const notebook = (
  { url }: Pick<NotebookServer, "url">,
  options: Partial<McpClientConnectionOptions> = {},
) => defineMcpClientConnection({ url, description: "A notebook.", ...options });

async function startNotebook(
  options: Partial<McpClientConnectionOptions> = {},
  pool: ConnectionPoolOptions = {},
  now: () => number = Date.now,
) {
  const server = await startNotebookServer();
  return { server, ...startPool({ notes: notebook(server, options) }, pool, now) };
}

function poolAction(event: ConnectionEvent): string[] {
  if (event.type !== "pool") return [];
  return [event.action === "evicted" ? `evicted: ${event.reason}` : event.action];
}

const opened: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of opened.splice(0)) await close();
});

describe("a client that is kept", () => {
  test("leaves no session behind whose handshake was aborted before it was saved", async () => {
    const { server, sessions } = await startNotebook({ session: "stateful" });
    server.intercept(on("notifications/initialized", () => undefined));
    const controller = new AbortController();
    const { signal } = controller;
    const running = sessions.run("chat", { ...user, abortSignal: signal }, () => undefined);
    await vi.waitFor(() => expect(server.log).toContain("POST notifications/initialized"));
    controller.abort(new Error("left"));
    await expect(running).rejects.toThrow("left");
    expect(server.sessionIds).toHaveLength(1);
    expect(server.liveSessions()).toBe(0);
  });

  test("is given up with the run when its server hangs in the handshake", async () => {
    const { server, sessions, takePool } = await startNotebook({ session: "stateful" });
    server.intercept(on("initialize", () => undefined));
    const abort = new AbortController();
    const running = sessions.run("chat", { ...user, abortSignal: abort.signal }, () => undefined);
    await vi.waitFor(() => expect(server.log).toContain("POST initialize"));
    abort.abort();
    await expect(running).rejects.toThrow();
    expect(takePool()).toEqual(["miss"]);
  });

  test("is given up, and no other opened, when the run is over during the check", async () => {
    let time = Date.now();
    const { server, provider, takePool } = await startNotebook(
      { session: "stateful", timeouts: { connectMs: 1_000 } },
      { checkAfterMs: 1 },
      () => time,
    );
    const create = (state: unknown) =>
      provider.create({ state, principal: alice, sessionId: "chat" });
    const first = create({});
    await first.client("notes");
    await first.dispose();
    const { state } = provider.commit(first, {} as { state?: unknown });
    time += 10;
    takePool();
    let pings = 0;
    server.intercept(on("ping", () => void (pings += 1)));
    const second = create(state);
    const left = second.client("notes").catch((error: unknown) => error);
    await vi.waitFor(() => expect(pings).toBe(1));
    await second.dispose();
    await left;
    await wait(1_500);
    const actions = takePool();
    expect(actions).toEqual(["evicted: busy", "closed"]);
    server.intercept(() => "next");
    const third = create(state);
    await third.client("notes");
    await third.dispose();
    expect(takePool()).toEqual(["miss", "opened"]);
  });

  test("is replaced when its server has restarted meanwhile", async () => {
    const { server, run, takePool } = await startNotebook();
    await run();
    server.forgetSessions();
    await run();
    expect(takePool()).toEqual(["miss", "opened", "hit", "evicted: unhealthy", "closed", "miss", "opened"]);
  });

  test("is replaced when a run waits for its server", async () => {
    const { server, provider } = await startNotebook();
    for (const _ of [1, 2]) {
      await using registry = provider.create({ principal: alice, sessionId: "chat" });
      await registry.ready("notes");
      await registry.call("notes", "list_notes");
      server.forgetSessions();
    }
    expect(server.sessionIds).toHaveLength(2);
  });

  test("is asked for after a pause, also where there is no session", async () => {
    let time = Date.now();
    const { server, provider, takePool } = await startNotebook({}, { checkAfterMs: 10 }, () => time);
    for (const _ of [1, 2]) {
      const registry = provider.create({ principal: alice, sessionId: "chat" });
      await registry.call("notes", "list_notes");
      await registry.dispose();
      time += 10;
      server.forgetSessions();
    }
    expect(takePool().slice(2)).toEqual(["evicted: unhealthy", "closed", "miss", "opened"]);
  });

  test("is not kept after a call that failed, where nothing recovers", async () => {
    const { server, run, sessions } = await startNotebook();
    await run();
    const call = () =>
      sessions.run("chat", user, async ({ registry }) => {
        server.forgetSessions();
        return await registry.call("notes", "list_notes");
      });
    await expect(call()).rejects.toThrow();
    await sessions.run("chat", user, ({ registry }) => registry.call("notes", "list_notes"));
  });
});
