import { createMemoryStore } from "@durable-mcp/core";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { describe, expect, test, vi } from "vitest";
import {
  addNote,
  backends,
  callForModel,
  listNotes,
  startNotebook,
  startNotebooks,
  touchIntervalMs,
} from "../../test/agent-session.ts";
import { startProcess } from "../../test/durable-process.ts";
import { on, startNotebookServer } from "../../test/notebook-server.ts";
import { alice, bob } from "../../test/step.ts";
import { currentConnections, withConnections } from "../index.ts";

vi.setConfig({ testTimeout: 20_000 });

const idleTimeoutMs = 3 * touchIntervalMs;
const gone = expect.stringContaining("the server had lost the session");
const noSuch = { code: "CONNECTION_INVALID", data: { field: "name" } };

describe.each(backends)("named sessions in %s", (backend) => {
  const isStore = backend !== "carried state";

  test("are made by name and last with the agent session", async () => {
    const { step, server, cart, clearLogs } = await startNotebooks(backend);
    await step(async (registry) => {
      await registry.named.create("research", { connections: ["notes"] });
      expect(server.log).toContain("POST initialize");
      expect(cart.liveSessions()).toBe(1);
      await registry.named.run("research", (own) => addNote(own, "found"));
      await addNote(registry, "milk");
    });
    clearLogs();
    await step(async (registry) => {
      expect(await registry.named.run("research", (own) => listNotes(own))).toBe("found");
      expect(await listNotes(registry)).toBe("milk");
    });
    expect(server.log).toEqual(["POST tools/call", "POST tools/call"]);
  });

  test("are the ones that withConnections finds and makes", async () => {
    const { step } = await startNotebooks(backend);
    await step(() => withConnections({ notes: { named: "research" } }, (own) => addNote(own, "a")));
    await step(async (registry) => {
      expect(await registry.named.run("research", (own) => addNote(own, "b"))).toBe("2 notes");
      await registry.named.create("shopping");
      const added = await withConnections({ cart: { named: "shopping" } }, (own) =>
        addNote(own, "c", "cart"),
      );
      expect(added).toBe("1 notes");
    });
  });

  test("are described without ids, those of this step too", async () => {
    const { step, server, cart, now, pass } = await startNotebooks(backend);
    const startedAt = now();
    const described = (connection: string) => ({
      connection,
      kind: "session",
      startedAt,
      lastUsedAt: expect.any(Number),
      protocolVersion: "2025-11-25",
      server: { name: "notebook", version: "1.0.0" },
    });
    const first = await step(async (registry) => {
      expect(await registry.named.list()).toEqual([]);
      expect(await registry.named.find("research")).toBeUndefined();
      const created = await registry.named.create("research", { idleTimeoutMs });
      expect(created).toEqual({
        name: "research",
        lastUsedAt: startedAt,
        idleTimeoutMs,
        connections: [
          { ...described("cart"), idleTimeoutMs },
          { ...described("notes"), idleTimeoutMs },
        ],
      });
      await registry.named.create("a", { connections: ["notes"] });
      const list = await registry.named.list();
      expect(list.map(({ name }) => name)).toEqual(["a", "research"]);
      expect(await registry.named.find("research")).toEqual(list[1]);
      return list;
    });
    pass(1_000);
    const later = await step((registry) => registry.named.list());
    expect(later).toEqual(first);
    const text = JSON.stringify(later);
    for (const id of [...server.sessionIds, ...cart.sessionIds]) expect(text).not.toContain(id);
  });

  test("are made once, also by two at a time", async () => {
    const { step, cart } = await startNotebooks(backend);
    await step(async ({ named }) => {
      const only = { connections: ["cart"] };
      const before = cart.sessionIds.length;
      const outcomes = await Promise.allSettled([
        named.create("research", only),
        named.create("research", only),
      ]);
      expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
      expect(outcomes.find(({ status }) => status === "rejected")).toMatchObject({
        reason: noSuch,
      });
      await expect(named.create("research", only)).rejects.toMatchObject(noSuch);
      expect(cart.sessionIds.length - before).toBe(1);
    });
    await step(async ({ named }) => {
      await expect(named.create("research")).rejects.toThrow("already");
    });
  });

  test("are made as a whole or not at all", async () => {
    const { step, server, cart, events } = await startNotebooks(backend);
    await step(() => undefined);
    const alive = [server.liveSessions(), cart.liveSessions()];
    cart.intercept(on("initialize", (_, response) => void response.writeHead(500).end()));
    await step(async ({ named }) => {
      await expect(named.create("research")).rejects.toMatchObject({
        code: "CONNECTION_UNAVAILABLE",
        data: { connection: "cart" },
      });
      expect(await named.find("research")).toBeUndefined();
    });
    expect([server.liveSessions(), cart.liveSessions()]).toEqual(alive);
    cart.intercept(() => "next");
    await step(({ named }) => named.create("research"));
    expect(events.filter(({ type }) => type === "store-failed")).toEqual([]);
  });

  test("run with their connections and inherit the others", async () => {
    const { step } = await startNotebooks(backend);
    await step(async (registry) => {
      await addNote(registry, "milk");
      await addNote(registry, "bread", "cart");
      await registry.named.create("research", { connections: ["notes"] });
      await registry.named.run("research", async () => {
        const current = currentConnections();
        expect(await listNotes(current)).toBe("");
        expect(await listNotes(current, "cart")).toBe("bread");
      });
      const using = registry.named.run("unknown", () => undefined);
      await expect(using).rejects.toMatchObject(noSuch);
      expect(await registry.named.end("unknown")).toEqual([]);
    });
  });

  test("have one live connection for all runs of a step", async () => {
    const { step, server } = await startNotebooks(backend);
    await step(async ({ named }) => {
      await named.create("research", { connections: ["notes"] });
      const before = server.sessionIds.length;
      const runs = Array.from({ length: 10 }, (_, index) =>
        named.run("research", (own) => addNote(own, String(index))),
      );
      await Promise.all(runs);
      expect(await named.run("research", (own) => addNote(own, "last"))).toBe("11 notes");
      expect(server.sessionIds.length).toBe(before);
    });
  });

  test("go on, in runs under way too, in a new session after a restart", async () => {
    const { step, server } = await startNotebooks(backend);
    await step(async ({ named }) => {
      await named.create("research", { connections: ["notes"], idleTimeoutMs });
      await named.run("research", async (own) => {
        await addNote(own, "a");
        const ended = server.sessionIds.at(-1)!;
        const restarted = { name: "research", connection: "notes", ended: true, status: 200 };
        expect(await own.restart("notes")).toEqual(restarted);
        expect(server.requests.at(-1)).toMatchObject({
          method: "DELETE",
          headers: { "mcp-session-id": ended },
        });
        expect(await named.find("research")).toMatchObject({
          idleTimeoutMs,
          connections: [{ connection: "notes", kind: "lost" }],
        });
        expect(await callForModel(own, "notes__list_notes")).toEqual([gone, ""]);
        expect(await addNote(own, "b")).toBe("1 notes");
      });
    });
    await step(async ({ named }) => {
      await named.run("research", async (own) => {
        expect(await listNotes(own)).toBe("b");
        await own.restart("notes");
      });
    });
    await step(async ({ named }) => {
      expect(await named.find("research")).toMatchObject({ idleTimeoutMs });
      await named.run("research", async (own) => {
        expect(await callForModel(own, "notes__list_notes")).toEqual([gone, ""]);
      });
    });
  });

  test("take other packages' clients along when they are restarted", async () => {
    const { step, server } = await startNotebooks(backend);
    await step(async ({ named }) => {
      await named.create("research", { connections: ["notes"] });
      await named.run("research", async (own) => {
        const client = new Client({ name: "other", version: "1.0.0" });
        const transport = new StreamableHTTPClientTransport(new URL(server.url), {
          fetch: own.fetch("notes"),
        });
        await client.connect(transport);
        await client.callTool({ name: "add_note", arguments: { text: "a" } });
        await own.restart("notes");
        expect(await addNote(own, "b")).toBe("1 notes");
        const { content } = await client.callTool({ name: "list_notes", arguments: {} });
        expect(content).toEqual([{ type: "text", text: "b" }]);
        await client.close();
      });
    });
  });

  test("are ended and forgotten when they are ended by name", async () => {
    const { step, server, cart } = await startNotebooks(backend);
    await step(() => undefined);
    const alive = server.liveSessions() + cart.liveSessions();
    await step(async ({ named }) => {
      await named.create("research");
      await named.run("research", async (own) => {
        await addNote(own, "a");
        const parts = await named.end("research");
        expect(parts.map(({ connection, ended }) => [connection, ended])).toEqual([
          ["cart", true],
          ["notes", true],
        ]);
        expect(server.liveSessions() + cart.liveSessions()).toBe(alive);
        await expect(listNotes(own)).rejects.toMatchObject({ code: "CONNECTION_UNAVAILABLE" });
      });
      expect(await named.list()).toEqual([]);
      await expect(named.run("research", () => undefined)).rejects.toMatchObject(noSuch);
      await withConnections({ notes: { named: "research" } }, async (own) => {
        expect(await addNote(own, "b")).toBe("1 notes");
      });
      await named.end("research");
      await named.create("research", { connections: ["notes"] });
      expect(await named.run("research", (own) => listNotes(own))).toBe("");
    });
    await step(async ({ named }) => {
      expect(await named.end("research")).toHaveLength(1);
      expect(server.liveSessions() + cart.liveSessions()).toBe(alive);
    });
    expect(await step(({ named }) => named.list())).toEqual([]);
  });

  test("are kept when they could not be ended, to be ended once more", async () => {
    const { step, server } = await startNotebooks(backend);
    await step(({ named }) => named.create("research", { connections: ["notes"] }));
    server.intercept(on("DELETE", (_, response) => void response.writeHead(500).end()));
    await step(async ({ named }) => {
      expect(await named.end("research")).toEqual([
        {
          name: "research",
          connection: "notes",
          ended: false,
          reason: "refused",
          status: 500,
          ...(isStore && { sessionId: "chat" }),
          removed: false,
        },
      ]);
      expect(await named.find("research")).toBeDefined();
    });
    const alive = server.liveSessions();
    server.intercept(() => "next");
    await step(async ({ named }) => {
      expect(await named.end("research")).toMatchObject([{ ended: true }]);
      expect(await named.find("research")).toBeUndefined();
    });
    expect(server.liveSessions()).toBe(alive - 1);
  });

  test("fail the calls under way when they are restarted, and no others", async () => {
    const { step, server } = await startNotebooks(backend);
    await step(async (registry) => {
      await registry.named.create("research", { connections: ["notes"] });
      await registry.named.run("research", async (own) => {
        const waiting = Promise.allSettled([own.call("notes", "wait")]);
        const other = registry.call("notes", "wait");
        await expect.poll(() => server.waits, { timeout: 10_000 }).toEqual(["started", "started"]);
        await own.restart("notes");
        expect(await waiting).toMatchObject([{ status: "rejected" }]);
        expect(await addNote(own, "b")).toBe("1 notes");
        server.release();
        await other;
      });
    });
  });

  test("are not made in a step that is over", async () => {
    const { step, server } = await startNotebooks(backend);
    const { named } = await step((registry) => registry);
    const before = server.sessionIds.length;
    await expect(named.create("research")).rejects.toMatchObject({
      code: "CONNECTION_UNAVAILABLE",
    });
    expect(await named.list()).toEqual([]);
    expect(server.sessionIds.length).toBe(before);
  });

  test("are each principal's own", async () => {
    const { step, server, now } = await startNotebooks(backend);
    await step(async (registry) => {
      await registry.named.create("research", { connections: ["notes"] });
      await registry.named.run("research", (own) => addNote(own, "alice's"));
      // A run on another's behalf sees that one's.
      const connections = { notes: { named: "bobs" }, cart: "isolate", plain: "isolate" } as const;
      await withConnections(connections, (own) => addNote(own, "bob's"), { principal: bob });
      expect((await registry.named.list()).map(({ name }) => name)).toEqual(["research"]);
    });
    const live = server.liveSessions();
    await step(
      async ({ named }) => {
        expect((await named.list()).map(({ name }) => name)).toEqual(["bobs"]);
        await expect(named.run("research", () => undefined)).rejects.toMatchObject(noSuch);
        expect(await named.end("research")).toEqual([]);
        await named.create("research", { connections: ["notes"] });
        expect(await named.run("research", (own) => listNotes(own))).toBe("");
        await named.end("research");
        expect(await named.run("bobs", (own) => listNotes(own))).toBe("bob's");
      },
      { principal: bob },
    );
    expect(server.liveSessions()).toBe(live + 1);
    await step(async ({ named }) => {
      expect(await named.run("research", (own) => listNotes(own))).toBe("alice's");
    });
    expect(now()).toBeGreaterThan(0);
  });

  test("are each agent's and each agent session's own", async () => {
    const { step } = await startNotebooks(backend);
    await step(({ named }) => named.create("research"));
    for (const other of [{ agent: "planner" }, { chat: "other" }]) {
      await step(async ({ named }) => {
        expect(await named.list()).toEqual([]);
        await named.create("research", { connections: ["notes"] });
        await named.run("research", (own) => addNote(own, "x"));
        await named.end("research");
      }, other);
    }
    await step(async ({ named }) => {
      expect((await named.find("research"))?.connections).toHaveLength(2);
      expect(await named.run("research", (own) => listNotes(own))).toBe("");
    });
  });

  test("that do not parse are replaced, with an event", async () => {
    const { step, change, events, server } = await startNotebooks(backend);
    const only = { connections: ["notes"] };
    await step(({ named }) => named.create("research", { ...only, idleTimeoutMs }));
    const before = server.sessionIds.length;
    await change((kept) => ({ ...kept, idleTimeoutMs: "soon" }), "notes", "research");
    events.length = 0;
    await step(async ({ named }) => {
      const [invalid] = (await named.find("research"))!.connections;
      expect(invalid).toMatchObject({ connection: "notes", kind: "invalid" });
      expect(await named.run("research", (own) => addNote(own, "a"))).toBe("1 notes");
    });
    const discarded = { type: "discarded", connection: "notes", name: "research" };
    expect(events).toContainEqual({ ...discarded, reason: "invalid" });
    expect(server.sessionIds).toHaveLength(before + 1);
  });

  test("of no connection that is still declared are refused, and can be closed", async () => {
    const { step, as, kept } = await startNotebooks(backend);
    await step(({ named }) => named.create("research", { connections: ["notes"] }));
    await as({}).step(async ({ named }) => {
      await expect(named.run("research", () => undefined)).rejects.toThrow("declared");
      const undeclared = { connection: "notes", ended: false, reason: "undeclared" };
      expect(await named.end("research")).toMatchObject([{ ...undeclared, removed: true }]);
    });
    expect(await kept("notes", "research")).toBeUndefined();
  });

  test("keep their names when they are restarted on a server that names no session", async () => {
    const agent = await startNotebook(backend, { isSessionless: true });
    const a = { connection: "notes", name: "a" };
    await agent.step(({ named }) => named.create("a"));
    expect(await agent.restart({ name: "a" })).toEqual([{ ...a, ended: true, removed: false }]);
    expect(await agent.list({ name: "a" })).toMatchObject([{ ...a, kind: "sessionless" }]);
  });
});

/** Those in a store are ended by a sweep. */
describe("named sessions in a state that are idle", () => {
  test("are ended when the agent session is used next, by whatever name", async () => {
    const { step, server, pass, clearLogs, events } = await startNotebooks("carried state");
    await step(async (registry) => {
      await addNote(registry, "milk");
      await registry.named.create("research", { connections: ["notes"], idleTimeoutMs });
      await registry.named.run("research", (own) => addNote(own, "a"));
      await registry.named.create("kept", { connections: ["notes"] });
    });
    const ended = server.sessionIds[1];
    const alive = server.liveSessions();
    pass(idleTimeoutMs - 1);
    await step((registry) => listNotes(registry));
    expect(server.liveSessions()).toBe(alive);
    clearLogs();
    pass(1);
    await step(async (registry) => {
      expect(await listNotes(registry)).toBe("milk");
    });
    const deleted = server.requests.filter(({ method }) => method === "DELETE");
    expect(deleted.map(({ headers }) => headers["mcp-session-id"])).toEqual([ended]);
    expect(server.liveSessions()).toBe(alive - 1);
    await step(async ({ named }) => {
      expect(await named.find("research")).toMatchObject({
        idleTimeoutMs,
        connections: [{ kind: "lost" }],
      });
      await named.run("research", async (own) => {
        expect(await callForModel(own, "notes__list_notes")).toEqual([gone, ""]);
      });
      expect(await named.find("kept")).toMatchObject({ connections: [{ kind: "session" }] });
    });
    expect(events.map(({ type }) => type)).not.toContain("conflict");
    expect(events.map(({ type }) => type)).not.toContain("discarded");
  });

  test("are not gone on with, when they are the first that is used", async () => {
    const { step, server, pass } = await startNotebooks("carried state");
    const named = { notes: { named: "research" } } as const;
    await step(async (registry) => {
      await registry.named.create("research", { connections: ["notes"], idleTimeoutMs });
      await withConnections(named, (own) => addNote(own, "a"));
    });
    const ended = server.sessionIds.at(-1);
    pass(idleTimeoutMs);
    await step(() =>
      withConnections(named, async (own) => {
        expect(await callForModel(own, "notes__list_notes")).toEqual([gone, ""]);
      }),
    );
    const calls = server.requests.filter(({ message }) => message?.method === "tools/call");
    expect(calls.at(-1)!.headers["mcp-session-id"]).not.toBe(ended);
    await step(() =>
      withConnections(named, async (own) => expect(await addNote(own, "b")).toBe("1 notes")),
    );
  });

  test("were used until the end of the step that used them", async () => {
    const { step, server, pass, now } = await startNotebooks("carried state");
    await step(async ({ named }) => {
      await named.create("research", { connections: ["notes"], idleTimeoutMs });
      pass(2 * idleTimeoutMs);
      await named.run("research", (own) => listNotes(own));
    });
    const lastUsedAt = now();
    expect(await step(({ named }) => named.find("research"))).toMatchObject({ lastUsedAt });
    for (let round = 0; round < 3; round += 1) {
      pass(idleTimeoutMs - 1);
      await step(async ({ named }) => {
        await named.run("research", (own) => addNote(own, "a"));
      });
    }
    expect(await step(({ named }) => named.run("research", (own) => listNotes(own)))).toBe(
      "a, a, a",
    );
    expect(server.log).not.toContain("DELETE");
  });

  test("are ended for this principal alone", async () => {
    const { step, server, pass } = await startNotebooks("carried state");
    const create = ({ named }: any) =>
      named.create("research", { connections: ["notes"], idleTimeoutMs });
    await step(create);
    await step(create, { principal: bob });
    const [, ofAlice] = server.sessionIds;
    pass(idleTimeoutMs);
    await step((registry) => listNotes(registry, "cart"));
    const deleted = server.requests.filter(({ method }) => method === "DELETE");
    expect(deleted.map(({ headers }) => headers["mcp-session-id"])).toEqual([ofAlice]);
  });

  test("and cannot be ended are replaced all the same, with an event", async () => {
    const { step, server, pass, events } = await startNotebooks("carried state");
    await step(({ named }) => named.create("research", { connections: ["notes"], idleTimeoutMs }));
    pass(idleTimeoutMs);
    server.intercept(on("DELETE", (_, response) => void response.writeHead(500).end()));
    await step(async ({ named }) => {
      expect(await named.run("research", (own) => listNotes(own))).toBe("");
    });
    expect(events).toContainEqual({
      type: "not-ended",
      connection: "notes",
      name: "research",
      reason: "refused",
      status: 500,
    });
  });
});

test.each([
  ["an empty name", "", {}, "name"],
  ["a long name", "n".repeat(257), {}, "name"],
  ["an unknown connection", "a", { connections: ["unknown"] }, "connections"],
  ["a stateless connection", "a", { connections: ["plain"] }, "connections"],
  ["no connection", "a", { connections: [] }, "connections"],
  ["an idle time-out of nothing", "a", { idleTimeoutMs: 0 }, "idleTimeoutMs"],
  [
    "an idle time-out in a store that is shorter than three touches",
    "a",
    { idleTimeoutMs: idleTimeoutMs - 1 },
    "idleTimeoutMs",
  ],
])("named sessions are not made with %s", async (_, name, options, field) => {
  const { step } = await startNotebooks("a memory store");
  await step(async ({ named }) => {
    await expect(named.create(name, options)).rejects.toMatchObject({
      code: "CONNECTION_INVALID",
      data: { field },
    });
    expect(await named.list()).toEqual([]);
  });
});

/** A store with as many names, all of one MCP session. */
async function startNames(count: number) {
  const server = await startNotebookServer();
  const store = createMemoryStore();
  const { sessions } = startProcess(server, store);
  const use = { principal: alice };
  await sessions.run("chat", use, (run) => run.named.create("name-0"));
  const { records } = await store.list({ limit: 10 });
  const { key, value, owner } = records.find((record) => record.key.includes("name-0"))!;
  for (let index = 1; index < count; index += 1) {
    await store.put(key.replace("name-0", `name-${index}`), value, null, { owner });
  }
  return { server, store, sessions, use };
}

describe("of many names", () => {
  test("each is found and ended, also those that a store lists later", async () => {
    const { server, store, sessions, use } = await startNames(1_050);
    await sessions.run("chat", use, async (run) => {
      expect(await run.named.list()).toHaveLength(1_050);
    });
    const listed = await sessions.list({ ...use, sessionId: "chat", limit: 1_000 });
    expect(listed.sessions).toHaveLength(1_000);
    const rest = await sessions.list({ ...use, sessionId: "chat", cursor: listed.cursor });
    expect(rest).toMatchObject({ sessions: { length: 51 }, cursor: undefined });
    await sessions.end("chat", use);
    expect((await store.list({ limit: 10 })).records).toEqual([]);
    expect(server.liveSessions()).toBe(0);
  });

  test("a few are asked for at a time", async () => {
    const { server, sessions, use } = await startNames(30);
    let asked = 0;
    let most = 0;
    server.intercept(
      on("ping", async () => {
        asked += 1;
        most = Math.max(most, asked);
        await new Promise((resolve) => {
          setTimeout(resolve, 20);
        });
        asked -= 1;
        return "next" as const;
      }),
    );
    const statuses = await sessions.status("chat", use);
    expect(statuses.filter(({ alive }) => alive)).toHaveLength(31);
    expect(most).toBeGreaterThan(1);
    expect(most).toBeLessThanOrEqual(10);
  });
});
