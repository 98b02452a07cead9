import { setTimeout as wait } from "node:timers/promises";
import { ElicitationRequestSchema } from "@ai-sdk/mcp";
import { createMemoryStore } from "@durable-mcp/core";
import { afterEach, describe, expect, test, vi } from "vitest";
import { createHeldStore } from "../../test/held-store.ts";
import { sendJson } from "../../test/http-server.ts";
import type { ClientEvent } from "../../test/collect-events.ts";
import { type NotebookServer, on, startNotebookServer } from "../../test/notebook-server.ts";
import {
  type AgentSession,
  alice,
  callForText,
  callTool,
  outdateTools,
  startApplication,
} from "../../test/step.ts";
import type { ConnectionPoolOptions } from "./connection-pool.ts";
import { createDurableSessions } from "../durable/create-durable-sessions.ts";
import { withConnections } from "../runs/current-connections.ts";
import type { McpClientConnectionOptions } from "../connection/connection-options.ts";
import { defineMcpClientConnection } from "../connection/define-connection.ts";

const user = { principal: alice };

/** Durable sessions on a provider with a pool; shut down after the test. */
function startPool(
  connections: Parameters<typeof startApplication>[0],
  pool: ConnectionPoolOptions = {},
  now: () => number = Date.now,
) {
  const { provider, clientEvents } = startApplication(connections, { pool, now });
  opened.push(() => provider.shutdown());
  const held = createHeldStore(createMemoryStore());
  const { store } = held;
  const sessions = createDurableSessions({ provider, store, onEvent: () => undefined });
  return {
    provider,
    sessions,
    held,
    /** What the pool did since the last look. */
    takePool: () => clientEvents.splice(0).map(poolAction),
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

function poolAction(event: ClientEvent): string {
  return event.action === "closed" ? `closed: ${event.reason}` : event.action;
}

const opened: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of opened.splice(0)) await close();
});

const useNamed = () =>
  withConnections({ notes: { named: "a" } }, (nested) => nested.call("notes", "list_notes"));

describe("a client that is kept", () => {
  test("is replaced when its server has restarted meanwhile", async () => {
    const { server, run, takePool } = await startNotebook();
    await run();
    server.forgetSessions();
    await run();
    expect(takePool()).toEqual(["miss", "opened", "hit", "closed: unhealthy", "miss", "opened"]);
  });

  test("is not kept after a call that failed, where nothing recovers", async () => {
    const { server, run, sessions } = await startNotebook();
    await run();
    const call = () =>
      sessions.run("chat", user, async ({ registry }) => {
        server.forgetSessions();
        return await registry.call("notes", "list_notes");
      });
    await expect(call()).rejects.toThrow("404");
    await sessions.run("chat", user, ({ registry }) => registry.call("notes", "list_notes"));
  });

  test("is kept when its server answers with an error", async () => {
    const { server, provider, takePool } = await startNotebook();
    server.intercept(
      on("tools/list", ({ message }, response) => {
        const error = { code: -32603, message: "The list is lost." };
        sendJson(response, 200, { jsonrpc: "2.0", id: message.id, error });
      }),
    );
    const registry = provider.create({ principal: alice, sessionId: "other" });
    await registry.call("notes", "list_notes");
    await registry.dispose();
    takePool();
    const again = provider.create({ principal: alice, sessionId: "other" });
    await expect(again.tools({ onUnavailable: "throw" })).rejects.toMatchObject({
      code: "CONNECTION_UNAVAILABLE",
    });
    await again.dispose();
    expect(takePool()).toEqual(["hit"]);
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
    const { server, provider, takePool } = await startNotebook(
      {},
      { checkAfterMs: 10 },
      () => time,
    );
    for (const _ of [1, 2]) {
      const registry = provider.create({ principal: alice, sessionId: "chat" });
      await registry.call("notes", "list_notes");
      await registry.dispose();
      time += 10;
      server.forgetSessions();
    }
    expect(takePool().slice(2)).toEqual(["closed: unhealthy", "miss", "opened"]);
  });

  test("is not kept where the connection is declared anew", async () => {
    const servers = [await startNotebookServer(), await startNotebookServer()];
    let current = 0;
    let tools: McpClientConnectionOptions["tools"];
    const { run, takePool, sessions } = startPool(() => ({
      notes: notebook(servers[current]!, {
        session: "stateful",
        headers: { "x-run": () => "a" },
        ...(tools && { tools }),
      }),
    }));
    await run("add_note");
    await run("add_note");
    expect(takePool()).toEqual(["miss", "opened", "hit"]);
    tools = { allow: ["list_notes"] };
    const names = await sessions.run("chat", user, ({ tools: all }) => Object.keys(all));
    expect(names).toEqual(["notes__list_notes"]);
    current = 1;
    servers[0]!.requests.length = 0;
    await run("list_notes");
    expect(servers[0]!.requests).toEqual([]);
  });

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

  test("sees that the tool list was cleared", async () => {
    const { server, run, sessions } = await startNotebook({ session: "stateful" });
    await run();
    await run();
    await sessions.clearTools("chat", user);
    server.requests.length = 0;
    await run();
    expect(server.log).toEqual(["POST tools/list", "POST tools/call"]);
  });

  test("makes tools that are of no use after the run", async () => {
    const { server, sessions, run } = await startNotebook({ session: "stateful" });
    const left: any = await sessions.run("chat", user, async ({ registry }) => {
      const client = await registry.client("notes");
      return await client.tools();
    });
    await run();
    server.requests.length = 0;
    await expect(
      left.list_notes.execute({}, { toolCallId: "1", messages: [] }),
    ).rejects.toMatchObject({ code: "CONNECTION_UNAVAILABLE" });
    expect(server.requests).toEqual([]);
  });

  test("is given up with a call of its own tools under way", async () => {
    const { server, sessions, takePool } = await startNotebook();
    let left: Promise<unknown> | undefined;
    await sessions.run("chat", user, async ({ registry }) => {
      const client = await registry.client("notes");
      const tools: any = await client.tools();
      left = tools.wait
        .execute({}, { toolCallId: "1", messages: [] })
        .catch((error: unknown) => error);
      await vi.waitFor(() => expect(server.waits).toEqual(["started"]));
    });
    await left;
    expect(takePool()).toContain("closed: busy");
  });

  test("is not kept when it answers elicitations for a run", async () => {
    const { sessions, takePool } = await startNotebook({ capabilities: { elicitation: {} } });
    await sessions.run("chat", user, async ({ registry }) => {
      const client = await registry.client("notes");
      client.onElicitationRequest(ElicitationRequestSchema, async () => ({ action: "decline" }));
    });
    expect(takePool()).toContain("closed: busy");
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
    const { state } = provider.commit<AgentSession>(first, {});
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
    expect(actions).toEqual(["closed: busy"]);
    server.intercept(() => "next");
    const third = create(state);
    await third.client("notes");
    await third.dispose();
    expect(takePool()).toEqual(["miss", "opened"]);
  });

  test("is given back when the store fails for another connection", async () => {
    const server = await startNotebookServer();
    const { sessions, takePool, held, provider } = startPool({
      notes: notebook(server, { session: "stateful" }),
      others: notebook(server, { session: "stateful" }),
    });
    await sessions.run("chat", user, () => undefined);
    expect(takePool()).toEqual(["miss", "miss", "opened", "opened"]);
    let gets = 0;
    held.before("get", async () => {
      gets += 1;
      // The second read is the other connection's, and the third repeats the first.
      if (gets !== 2) throw new Error("down");
      await wait(50);
    });
    await expect(sessions.open("chat", user)).rejects.toMatchObject({ code: "STORE_FAILED" });
    await wait(150);
    held.heal();
    await provider.shutdown();
    expect(takePool().filter((action) => action === "closed: shutdown")).toHaveLength(2);
  });

  test("is given back when its named session is loaded too late", async () => {
    const { sessions, held, takePool, provider } = await startNotebook({ session: "stateful" });
    await sessions.run("chat", user, useNamed);
    const release = Promise.withResolvers<void>();
    let late: Promise<unknown> | undefined;
    await sessions.run("chat", user, () => {
      held.before("get", () => release.promise);
      late = useNamed().catch((error: unknown) => error);
    });
    release.resolve();
    expect(await late).toMatchObject({ code: "CONNECTION_UNAVAILABLE" });
    takePool();
    await provider.shutdown();
    expect(takePool().filter((action) => action === "closed: shutdown")).toHaveLength(2);
  });

  test("is closed by shutdown though a run hangs in its store", async () => {
    const { provider, sessions, held, takePool } = await startNotebook({ session: "stateful" });
    await sessions.run("idle", user, () => undefined);
    const lease = await sessions.open("hung", user);
    const release = Promise.withResolvers<void>();
    held.before("put", () => release.promise);
    await outdateTools(lease.registry);
    held.log.length = 0;
    takePool();
    await provider.shutdown({ timeoutMs: 200 });
    expect(held.log).toEqual(["put"]);
    expect(takePool()).toContain("closed: shutdown");
    release.resolve();
    await lease.dispose();
  });

  test("is given up with the run when its server hangs in the handshake", async () => {
    const { server, sessions, takePool } = await startNotebook({ session: "stateful" });
    server.intercept(on("initialize", () => undefined));
    const abort = new AbortController();
    const running = sessions.run("chat", { ...user, abortSignal: abort.signal }, () => undefined);
    await vi.waitFor(() => expect(server.log).toContain("POST initialize"));
    abort.abort(new Error("left"));
    await expect(running).rejects.toThrow("left");
    expect(takePool()).toEqual(["miss"]);
  });

  test("does not bring an ended session back into the state", async () => {
    const { server, provider } = await startNotebook({ session: "stateful" });
    const step = async (session: { state?: unknown }) => {
      const registry = provider.create({ state: session.state, principal: alice, sessionId: "c" });
      await callForText(await registry.tools(), "notes__list_notes");
      await registry.dispose();
      return { registry, session: provider.commit(registry, session) };
    };
    const { session: one } = await step({});
    const { session: two, registry } = await step(one);
    expect(two).toBe(one);
    const { session: ended } = await provider.end(two, user);
    expect(provider.commit(registry, ended)).toBe(ended);
    expect(server.liveSessions()).toBe(0);
  });

  test("is not kept where a part of the session ends with the run", async () => {
    const { server, run } = await startNotebook({
      session: { mode: "stateful", except: ["list_notes"] },
    });
    await run("add_note");
    await run("list_notes");
    expect(server.sessionIds).toHaveLength(2);
    expect(server.liveSessions()).toBe(1);
  });

  test("is not kept where it has the headers of a run", async () => {
    let asked = 0;
    const { server, run } = await startNotebook({
      headers: { "x-run": () => `run ${(asked += 1)}` },
      authProvider: { tokens: () => undefined } as never,
    });
    await run();
    await run();
    expect(server.requests.at(-1)?.headers["x-run"]).toBe("run 2");
  });

  test("tells once of a lost session, also when calls of later runs have the same ids", async () => {
    const { server, sessions } = await startNotebook({
      session: "stateful",
    });
    const told = () =>
      sessions.run("chat", user, async ({ tools }) => {
        const output = await callTool(tools, "notes__list_notes");
        const seen: any = await (tools as any)["notes__list_notes"].toModelOutput({
          toolCallId: "call-1",
          input: {},
          output,
        });
        return JSON.stringify(seen).includes("had lost the session");
      });
    expect(await told()).toBe(false);
    server.forgetSessions();
    expect(await told()).toBe(true);
    expect(await told()).toBe(false);
  });
});
