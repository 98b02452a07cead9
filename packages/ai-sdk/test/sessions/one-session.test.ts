/** What an agent session does, wherever its MCP sessions are kept. Each step is a process of its own. */
import { beforeEach, describe, expect, test } from "vitest";
import {
  add,
  addNote,
  backends,
  isTold,
  list,
  listNotes,
  startAgent,
  startNotebook,
} from "../agent-session.ts";
import { on, startNotebookServer } from "../../../sessions/test/notebook-server.ts";
import { notebook } from "../saved-session.ts";
import { alice, bob } from "../step.ts";
import { createPrincipals, currentConnections } from "../../src/index.ts";

type Agent = Awaited<ReturnType<typeof startNotebook>>;
const handshake = ["POST initialize", "POST notifications/initialized"];

describe.each(backends)("in %s", (backend) => {
  let agent: Agent;
  beforeEach(async () => {
    agent = await startNotebook(backend, { instructions: "Be brief." });
  });

  test("one session lasts over steps, and a resumed one sends nothing but its calls", async () => {
    const { step, server, types } = agent;
    expect(await step(add("milk"))).toBe("1 notes");
    expect(server.log).toEqual([...handshake, "POST tools/list", "POST tools/call"]);
    server.requests.length = 0;
    expect(await step(add("bread"))).toBe("2 notes");
    expect(await step(list)).toBe("milk, bread");
    expect(server.log).toEqual(["POST tools/call", "POST tools/call"]);
    expect(types()).toEqual(["started", "resumed", "resumed"]);
  });

  test("a resumed session sends nothing to list, and knows its server", async () => {
    const { step, server } = agent;
    await step((run) => run.tools());
    expect(server.log).toEqual([...handshake, "POST tools/list"]);
    server.requests.length = 0;
    await step(async (run) => {
      expect(Object.keys(await run.tools())).toContain("notes__add_note");
      expect(await run.instructions()).toEqual({ notes: "Be brief." });
      expect((await run.client("notes")).serverInfo.name).toBe("notebook");
    });
    expect(server.log).toEqual([]);
  });

  test("sends the session's id and version with every request that has a session", async () => {
    const { step, server } = agent;
    await step(list);
    await step(list);
    const [initialize, ...others] = server.requests;
    expect(initialize?.headers).not.toHaveProperty("mcp-session-id");
    expect(others).toHaveLength(4);
    const sent = { "mcp-session-id": server.sessionIds[0], "mcp-protocol-version": "2025-11-25" };
    for (const { headers } of others) expect(headers).toMatchObject(sent);
  });

  test("each principal, agent session and agent has a session of its own", async () => {
    const { step, server } = agent;
    const ofIssuer = createPrincipals({ issuer: "https://idp.test" });
    const uses = [
      {},
      { principal: bob },
      { principal: createPrincipals({ issuer: "https://other.test" }).user("alice") },
      { principal: { type: "app" } },
      { principal: { type: "anonymous" } },
      { chat: "other" },
      { agent: "planner" },
    ] as const;
    for (const [index, use] of uses.entries()) {
      expect(await step(add(`of ${index}`), use)).toBe("1 notes");
    }
    for (const [index, use] of uses.entries()) expect(await step(list, use)).toBe(`of ${index}`);
    expect(await step(list, { principal: ofIssuer.user("alice") })).toBe("of 0");
    expect(server.sessionIds).toHaveLength(uses.length);
  });

  test.each<[string, unknown, object]>([
    ["nobody", undefined, { code: "PRINCIPAL_REQUIRED" }],
    ["null", null, { code: "PRINCIPAL_REQUIRED" }],
    [
      "a user of no issuer",
      { type: "user", id: "alice" },
      { code: "CONNECTION_INVALID", data: { field: "principal.issuer" } },
    ],
  ])("is not opened for %s, and sends nothing", async (_, principal, error) => {
    const { step, server } = agent;
    await expect(step(list, { principal: principal as never })).rejects.toMatchObject(error);
    expect(server.log).toEqual([]);
  });

  test("connections may be those of the principal", async () => {
    const { server } = agent;
    const asked: unknown[] = [];
    const { step } = startAgent(backend, (principal) => {
      asked.push(principal);
      return principal?.type === "user" ? { notes: notebook(server) } : {};
    });
    const notes = { name: "notes", description: "A notebook.", session: "stateful" };
    await step((run) => expect(run.connections).toEqual([notes]));
    const principal = { type: "anonymous" } as const;
    await step(async (run) => expect(await run.tools()).toEqual({}), { principal });
    expect(new Set(asked)).toEqual(new Set([alice, principal]));
    const later = startAgent(backend, () => Promise.resolve({}) as never);
    await expect(later.step(list)).rejects.toMatchObject({ code: "CONNECTION_INVALID" });
  });

  test("is found by the code below a step, and by it alone", async () => {
    await agent.step(async (run) => {
      await addNote(currentConnections(), "milk");
      expect(await listNotes(run)).toBe("milk");
    });
    expect(() => currentConnections()).toThrow(expect.objectContaining({ code: "RUN_REQUIRED" }));
  });

  test("is kept by a step that fails, with its own error", async () => {
    const { step, server } = agent;
    const error = new Error("the model is down");
    const failing = step(async (run) => {
      await add("kept")(run);
      throw error;
    });
    await expect(failing).rejects.toBe(error);
    server.intercept(on("tools/call", (_, response) => void response.destroy()));
    await expect(step(list)).rejects.toMatchObject({ code: "OUTCOME_UNKNOWN" });
    server.intercept(() => "next");
    expect(await step(list)).toBe("kept");
    expect(server.sessionIds).toHaveLength(1);
  });

  test("an observer that throws changes nothing", async () => {
    const onEvent = {
      every() {
        throw new Error("observer");
      },
    };
    const { step } = startAgent(backend, { notes: notebook(agent.server) }, { onEvent });
    await step(add("milk"));
    expect(await step(list)).toBe("milk");
  });

  test("tells the model of a loss once over all steps", async () => {
    const { step, server, types } = agent;
    expect(await step(isTold)).toBe(false);
    server.forgetSessions();
    expect(await step(isTold)).toBe(true);
    expect(await step(isTold)).toBe(false);
    expect(types()).toContain("recovered");
    expect(server.sessionIds).toHaveLength(2);
  });

  test("tells of a loss in a later step when none had a result to tell it in", async () => {
    const { step, server } = agent;
    await step(list);
    server.forgetSessions();
    server.intercept(on("initialize", (_, response) => void response.writeHead(503).end()));
    await expect(step(list)).rejects.toThrow("503");
    expect(await agent.list()).toMatchObject([{ kind: "lost" }]);
    expect(await agent.contents()).not.toContain(server.sessionIds[0]);
    server.intercept(() => "next");
    // A ping has no place for a note.
    await step((run) => run.ready("notes"));
    expect(await step(isTold)).toBe(true);
    expect(await step(isTold)).toBe(false);
  });

  test("keeps that a server names no session", async () => {
    const sessionless = await startNotebook(backend, { isSessionless: true });
    const { step, server, types } = sessionless;
    await step(list);
    expect(types()).toEqual(["sessionless"]);
    expect(await sessionless.list()).toMatchObject([{ kind: "sessionless" }]);
    server.requests.length = 0;
    await step(list);
    expect(server.log).toEqual(["POST tools/call"]);
  });

  test("what does not parse is replaced, with an event, and the model is told", async () => {
    const { step, change, types, events } = agent;
    await step(list);
    await change(({ snapshot, ...kept }) => ({ ...kept, snapshot: { ...snapshot, toolList: {} } }));
    events.length = 0;
    expect(await step(isTold)).toBe(true);
    expect(await step(isTold)).toBe(false);
    expect(types()).toEqual(["discarded", "recovered", "resumed"]);
  });

  test("a session of another URL gets no request there, and is replaced", async () => {
    const { step, server, types, events, as, contents } = agent;
    await step(list);
    const moved = await startNotebookServer();
    [server.requests.length, events.length] = [0, 0];
    const later = as({ notes: notebook(moved) });
    moved.intercept((_, response) => void response.writeHead(503).end());
    await later.step((run) => run.tools());
    expect(await contents()).not.toContain(server.sessionIds[0]);
    moved.intercept(() => "next");
    expect(await later.step(isTold)).toBe(true);
    expect(types()).toContain("discarded");
    expect(server.requests).toEqual([]);
    const sent = JSON.stringify(moved.requests.map(({ headers }) => headers));
    expect(sent).not.toContain(server.sessionIds[0]);
  });

  test("a session of another URL is ended where another connection is declared", async () => {
    const { step, server, as } = agent;
    await step(list);
    const moved = await startNotebookServer();
    await as({ notes: notebook(moved), archive: notebook(server) }).step(list);
    expect(server.log).toContain("DELETE");
    expect(server.liveSessions()).toBe(1);
    expect(moved.log).not.toContain("DELETE");
  });

  test("fields of a later release survive, but for those of a lost session's snapshot", async () => {
    const { step, server, change, kept } = agent;
    const hint = { of: "a later release" };
    await step(({ named }) => named.create("research", { connections: ["notes"] }));
    await change(
      ({ snapshot, ...rest }) => ({ ...rest, hint, snapshot: { ...snapshot, hint } }),
      ...(["notes", "research"] as const),
    );
    const visit = (work: typeof list) => step(({ named }) => named.run("research", work));
    await visit(async (run) => {
      await run.clearTools("notes");
      return await list(run);
    });
    const session = { kind: "session", toolList: {} };
    expect(await kept("notes", "research")).toMatchObject({
      hint,
      snapshot: { ...session, hint },
    });
    server.forgetSessions();
    await visit(list);
    const recovered = await kept("notes", "research");
    expect(recovered).toMatchObject({ hint, snapshot: session });
    expect(recovered.snapshot).not.toHaveProperty("hint");
    await agent.restart({ name: "research" });
    const lost = { kind: "sessionless", lost: {} };
    expect(await kept("notes", "research")).toMatchObject({ hint, snapshot: lost });
  });
});
