/** Durable sessions that make a provider of their own, and those that are handed one. */
import { createMemoryStore } from "@durable-mcp/core";
import { describe, expect, test, vi } from "vitest";
import { describingProgram } from "../../../sessions/test/describing-program.ts";
import { isOfProgress } from "../collect-events.ts";
import { createFaultyStore } from "@durable-mcp/testing";
import {
  type NotebookServer,
  startNotebookServer,
} from "../../../sessions/test/notebook-server.ts";
import { alice, callForText, outdateTools, openAndList } from "../step.ts";
import {
  type ConnectionRun,
  createConnectionProvider,
  createDurableSessions,
  defineMcpClientConnection,
} from "../../src/index.ts";
import type { ConnectionEvent } from "../../../sessions/src/events/connection-event.ts";
import type { ConnectionOperation } from "../../../sessions/src/events/connection-telemetry.ts";
import { defineMcpStdioConnection } from "../../src/stdio.ts";

const use = { principal: alice };
const isOver = { code: "CONNECTION_UNAVAILABLE" };

const notebook = ({ url }: Pick<NotebookServer, "url">) => ({
  notes: defineMcpClientConnection({ url, description: "A notebook.", session: "stateful" }),
});

/** A store that fails to write what a step leaves: its tool list is outdated. */
function startFailingStore() {
  const held = createFaultyStore(createMemoryStore());
  const fail = async (run: ConnectionRun<any>) => {
    await outdateTools(run);
    held.fail("put");
  };
  return { store: held.store, fail };
}

/** Of all but those of clients and operations, which each run has. */
const typesOf = (events: readonly ConnectionEvent[]) =>
  events.filter((event) => event.type !== "client" && !isOfProgress(event)).map(({ type }) => type);

describe("sessions of connections", () => {
  test("tell one observer of the connections and of the store", async () => {
    const server = await startNotebookServer();
    const { store, fail } = startFailingStore();
    const events: ConnectionEvent[] = [];
    const sessions = createDurableSessions({
      connections: notebook(server),
      store,
      onEvent: { every: (event) => events.push(event) },
    });
    await sessions.run("chat", use, fail);
    expect(typesOf(events)).toEqual(["started", "tools-changed", "store-failed"]);
  });

  test("hand the pool, the telemetry and the clock on", async () => {
    const server = await startNotebookServer();
    const operations: ConnectionOperation["operation"][] = [];
    const observed: ConnectionEvent[] = [];
    const events: ConnectionEvent[] = [];
    const program = defineMcpStdioConnection({ ...describingProgram(), description: "A program." });
    const sessions = createDurableSessions({
      connections: { ...notebook(server), program },
      store: createMemoryStore(),
      pool: {},
      telemetry: {
        trace({ operation }, run) {
          operations.push(operation);
          return run(() => undefined);
        },
        observe: (event) => void observed.push(event),
      },
      onEvent: { every: (event) => events.push(event) },
      now: () => 42,
    });
    await sessions.run("chat", use, (run) => run.tools());
    expect(operations).toEqual(["list", "connect", "list", "connect"]);
    expect(events).toContainEqual({ type: "client", connection: "notes", action: "opened" });
    expect(observed).toEqual(events);
    expect((await sessions.list({ ...use, sessionId: "chat" })).sessions).toMatchObject([
      { startedAt: 42 },
    ]);
    await sessions.shutdown();
    const closed = { type: "client", connection: "program", action: "closed" };
    expect(events.at(-1)).toEqual({ ...closed, reason: "shutdown" });
  });

  test("shut down with what is open on them, and nothing can be opened any more", async () => {
    const server = await startNotebookServer();
    const store = createMemoryStore();
    const sessions = createDurableSessions({ connections: notebook(server), store });
    const lease = await openAndList(sessions, "chat", use);
    await Promise.all([sessions.shutdown(), sessions.shutdown()]);
    await expect(lease.tools()).rejects.toMatchObject(isOver);
    await expect(openAndList(sessions, "chat", use)).rejects.toMatchObject(isOver);
    expect((await sessions.list({ ...use, sessionId: "chat" })).sessions).toMatchObject([
      { tools: { count: 4 } },
    ]);
    expect(server.liveSessions()).toBe(1);
  });
});

describe("sessions of a provider", () => {
  test("tell its observer, unless they have one of their own", async () => {
    const server = await startNotebookServer();
    const { store, fail } = startFailingStore();
    const [ofProvider, own]: ConnectionEvent[][] = [[], []];
    const provider = createConnectionProvider({
      connections: notebook(server),
      onEvent: { every: (event) => ofProvider!.push(event) },
    });
    await createDurableSessions({ provider, store }).run("a", use, fail);
    expect(typesOf(ofProvider!.splice(0))).toEqual(["started", "tools-changed", "store-failed"]);

    const other = startFailingStore();
    await createDurableSessions({
      provider,
      store: other.store,
      onEvent: { every: (event) => own!.push(event) },
    }).run("b", use, other.fail);
    expect(typesOf(ofProvider!)).toEqual(["started", "tools-changed"]);
    expect(typesOf(own!)).toEqual(["store-failed"]);
  });

  test("warn of a store that fails where nobody observes", async () => {
    const server = await startNotebookServer();
    const { store, fail } = startFailingStore();
    const provider = createConnectionProvider({ connections: notebook(server) });
    const warn = vi.spyOn(console, "warn").mockReturnValue();
    try {
      await createDurableSessions({ provider, store }).run("chat", use, fail);
      expect(warn.mock.calls).toEqual([["Connection notes: The store is down."]]);
    } finally {
      warn.mockRestore();
    }
  });

  test("shut down without it: what others have open goes on", async () => {
    const server = await startNotebookServer();
    const provider = createConnectionProvider({ connections: notebook(server) });
    const [mine, others] = ["mine", "others"].map((agent) =>
      createDurableSessions({ provider, store: createMemoryStore(), agent }),
    );
    const [own, other] = await Promise.all([
      openAndList(mine!, "a", use),
      openAndList(others!, "b", use),
    ]);
    await mine!.shutdown();
    await expect(own.tools()).rejects.toMatchObject(isOver);
    await expect(openAndList(mine!, "a", use)).rejects.toMatchObject(isOver);
    expect(await callForText(await other.tools(), "notes__list_notes")).toBe("");
    await other.dispose();
    await own.dispose();
  });

  test("shut down in time when a server hangs", async () => {
    const server = await startNotebookServer();
    const provider = createConnectionProvider({ connections: notebook(server) });
    const sessions = createDurableSessions({ provider, store: createMemoryStore() });
    const { store } = startFailingStore();
    const held = createDurableSessions({
      provider,
      store: { ...store, get: () => new Promise(() => {}) },
    });
    // It fails after `storeTimeoutMs`.
    openAndList(held, "chat", use).catch(() => undefined);
    await openAndList(sessions, "chat", use);
    await expect(held.shutdown({ timeoutMs: 50 })).resolves.toBeUndefined();
    await expect(provider.shutdown({ timeoutMs: 500 })).resolves.toBeUndefined();
  });

  test("are refused when the provider is not ours", () => {
    const provider = {} as never;
    const start = () => createDurableSessions({ provider, store: createMemoryStore() });
    expect(start).toThrow(/createConnectionProvider/);
  });
});

test.each([
  ["no connections", {}, "connections"],
  ["connections that are none", { connections: [] }, "connections"],
  ["a provider and connections", { provider: {}, connections: {} }, "connections"],
  ["a provider and a pool", { provider: {}, pool: {} }, "pool"],
  ["an agent that shares", { connections: {}, agent: "planner", share: true }, "agent"],
  ["a provider and telemetry", { provider: {}, telemetry: {} }, "telemetry"],
])("%s are refused, with the option's name", (_, options: object, field) => {
  const start = () => createDurableSessions({ store: createMemoryStore(), ...options } as never);
  expect(start).toThrow(expect.objectContaining({ code: "CONNECTION_INVALID", data: { field } }));
});
