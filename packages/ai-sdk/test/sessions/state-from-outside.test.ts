import { describe, expect, test } from "vitest";
import { startNotebookServer } from "../../../sessions/test/notebook-server.ts";
import { aliceKey, deepFreeze, list, slotsOf, startSaved } from "../saved-session.ts";
import { type AgentSession, alice } from "../step.ts";

describe("state from outside", () => {
  const garbage: [string, (snapshot: any, url: string) => unknown][] = [
    ["an empty entry", () => ({})],
    ["null", () => null],
    ["a string", () => "secret-session-1"],
    ["a list", (snapshot) => [snapshot]],
    ["a forged id with a line break", (snapshot) => ({ ...snapshot, sessionId: "a\r\nx-evil: 1" })],
  ];

  test.each(garbage)(
    "%s means a new session, an event and an entry that is gone, or that says so",
    async (...row) => {
      const [, corrupt] = row;
      const { server, application, snapshot } = await startSaved();
      const entry = corrupt(snapshot, server.url);
      const state = { cart: 1, mcpSessions: { [aliceKey]: entry } };
      const isObject = entry?.constructor === Object;
      const lost = { version: 1, kind: "sessionless", url: server.url, lost: {} };

      const unused = application.provider.create({ state, principal: alice });
      expect(application.events).toEqual([
        { type: "discarded", connection: "notes", reason: "invalid" },
      ]);
      expect(application.provider.commit(unused, { state })).toEqual({
        state: { cart: 1, ...(isObject && { mcpSessions: { [aliceKey]: lost } }) },
      });

      const registry = application.provider.create({ state, principal: alice });
      await list(registry);
      await registry.dispose();
      const committed = application.provider.commit(registry, { state });
      expect(slotsOf(committed)[aliceKey]).toMatchObject({ sessionId: server.sessionIds[1] });
      expect(application.provider.commit(registry, committed)).toBe(committed);
    },
  );

  test.each<[string, unknown]>([
    ["a list", []],
    ["a string", "secret-session-1"],
    ["a number", 1],
    ["sessions that are a list", { mcpSessions: [] }],
    ["sessions that are a string", { mcpSessions: "secret-session-1" }],
  ])("%s is discarded", async (_, state) => {
    const { server, application } = await startSaved();
    const registry = application.provider.create({ state, principal: alice });
    expect(application.takeEvents()).toEqual(["discarded"]);
    await list(registry);
    await registry.dispose();
    const committed = application.provider.commit<AgentSession>(registry, { state });
    expect(slotsOf(committed)[aliceKey]).toMatchObject({ sessionId: server.sessionIds[1] });
  });

  test.each<[string, unknown]>([
    ["no state", undefined],
    ["state that is null", null],
    ["sessions that are null", { mcpSessions: null }],
    ["state without sessions", { cart: 1 }],
    ["sessions of others", { mcpSessions: { '["notes","app"]': { version: 1 } } }],
  ])("%s is no reason to say anything", async (_, state) => {
    const { application } = await startSaved();
    const registry = application.provider.create({ state, principal: alice });
    expect(application.events).toEqual([]);
    const session = { state };
    expect(application.provider.commit(registry, session)).toBe(session);
  });

  test("sessions that are a list are gone after commit, although nothing was used", async () => {
    const { application } = await startSaved();
    const session = deepFreeze({ state: { cart: 1, mcpSessions: ["secret-session-1"] } });
    const registry = application.provider.create({ state: session.state, principal: alice });
    expect(application.provider.commit<AgentSession>(registry, session)).toEqual({
      state: { cart: 1 },
    });
  });

  test("what is inherited is not read", async () => {
    const { application, session } = await startSaved();
    const inherited = [
      Object.create(session.state as object) as unknown,
      { mcpSessions: Object.create(slotsOf(session)) as unknown },
    ];
    for (const state of inherited) {
      const registry = application.provider.create({ state, principal: alice });
      await registry.client("notes");
      await registry.dispose();
      expect(application.takeEvents()).toEqual(["started"]);
    }
  });

  test("a saved id is sent to the definition's URL only, whatever the state says", async () => {
    const { application, session, snapshot } = await startSaved();
    const thief = await startNotebookServer();
    const mcpSessions = { [aliceKey]: { ...snapshot, url: thief.url } };
    await application.step({ ...session, state: { mcpSessions } }, list);
    expect(thief.requests).toEqual([]);
    expect(application.takeEvents()).toEqual(["discarded", "recovered"]);
  });
});
