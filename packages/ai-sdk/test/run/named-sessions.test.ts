/** Named sessions: made, found and used. */
import { createMemoryStore } from "@durable-mcp/core";
import { describe, expect, test } from "vitest";
import { addNote, backends, listNotes, startNotebooks, touchIntervalMs } from "../agent-session.ts";
import { startProcess } from "../durable-process.ts";
import { on, startNotebookServer } from "../../../sessions/test/notebook-server.ts";
import { alice, bob } from "../step.ts";
import { currentConnections, withConnections } from "../../src/index.ts";

const idleTimeoutMs = 3 * touchIntervalMs;
const noSuch = { code: "CONNECTION_INVALID", data: { field: "name" } };

describe.each(backends)("named sessions in %s", (backend) => {
  test("are made by name and last with the agent session", async () => {
    const { step, server, cart, clearLogs } = await startNotebooks(backend);
    await step(async (registry) => {
      await registry.named.create("research", { connections: ["notes"] });
      expect(server.log).toContain("POST initialize");
      expect(cart.liveSessions()).toBe(0);
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
      const using = registry.named.run("unknown", (run) => run.tools());
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
        await expect(named.run("research", (run) => run.tools())).rejects.toMatchObject(noSuch);
        expect(await named.end("research")).toEqual([]);
        await named.create("research", { connections: ["notes"] });
        expect(await named.run("research", (own) => listNotes(own))).toBe("");
        await named.end("research");
        expect(await named.run("bobs", (own) => listNotes(own))).toBe("bob's");
      },
      { principal: bob },
    );
    expect(server.liveSessions()).toBe(live);
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

test("a name that none can have is refused, whatever is to be done with it", async () => {
  const { step } = await startNotebooks("a memory store");
  await step(async ({ named }) => {
    const uses = [named.find(""), named.end(""), named.run("", () => undefined)];
    const outcomes = await Promise.allSettled(uses);
    expect(outcomes).toMatchObject(uses.map(() => ({ reason: noSuch })));
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
    expect(rest).toMatchObject({ sessions: { length: 50 }, cursor: undefined });
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
    expect(statuses.filter(({ alive }) => alive)).toHaveLength(30);
    expect(most).toBeGreaterThan(1);
    expect(most).toBeLessThanOrEqual(10);
  });
});
