/** Named sessions that are restarted, ended or idle, and those that cannot be used any more. */
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { describe, expect, test } from "vitest";
import {
  addNote,
  backends,
  callForModel,
  listNotes,
  startNotebook,
  startNotebooks,
  touchIntervalMs,
} from "../agent-session.ts";
import { on } from "../../../sessions/test/notebook-server.ts";
import { bob } from "../step.ts";
import { withConnections } from "../../src/index.ts";

const idleTimeoutMs = 3 * touchIntervalMs;
const gone = expect.stringContaining("the server had lost the session");
const noSuch = { code: "CONNECTION_INVALID", data: { field: "name" } };

describe.each(backends)("named sessions in %s", (backend) => {
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
      await expect(named.run("research", (run) => run.tools())).rejects.toMatchObject(noSuch);
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
      await expect(named.run("research", (run) => run.tools())).rejects.toThrow("declared");
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
    const [ofAlice] = server.sessionIds;
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
