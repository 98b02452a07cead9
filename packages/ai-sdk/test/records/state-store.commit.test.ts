import { describe, expect, test } from "vitest";
import {
  aliceKey,
  deepFreeze,
  list,
  notebook,
  startNotes,
  slotsOf,
  startSaved,
} from "../saved-session.ts";
import { type AgentSession, alice, bob, startApplication } from "../step.ts";

describe("commit", () => {
  test("returns the same object when nothing changed", async () => {
    const { application, session } = await startSaved();
    for (const use of [async () => {}, list]) {
      const registry = application.provider.create({ state: session.state, principal: alice });
      await use(registry);
      expect(application.provider.commit(registry, session)).toBe(session);
      await registry.dispose();
      expect(application.provider.commit(registry, session)).toBe(session);
    }
  });

  test("returns the same object when what changed is already there", async () => {
    const { provider } = await startNotes();
    const registry = provider.create({ principal: alice });
    await list(registry);
    const session = provider.commit(registry, {});
    expect(session).not.toEqual({});
    expect(provider.commit(registry, session)).toBe(session);
    await registry.dispose();
    expect(provider.commit(registry, session)).toBe(session);
  });

  test("touches no other key and mutates nothing", async () => {
    const { server, provider } = await startNotes();
    const foreign = { version: 1, kind: "sessionless", url: "https://other.test/mcp" };
    const session = deepFreeze({
      id: "chat-1",
      messages: [{ role: "user" }],
      state: { cart: { items: [1] }, mcpSessions: { '["other","app"]': foreign } },
    });
    const registry = provider.create({ state: session.state, principal: alice });
    await list(registry);
    await registry.dispose();
    const committed = provider.commit(registry, session);

    expect(committed).toEqual({
      ...session,
      state: {
        cart: { items: [1] },
        mcpSessions: {
          '["other","app"]': foreign,
          [aliceKey]: expect.objectContaining({ kind: "session", url: server.url }),
        },
      },
    });
    expect(committed.messages).toBe(session.messages);
    expect(committed.state.cart).toBe(session.state.cart);
  });

  test("writes plain JSON that later changes do not reach", async () => {
    const { server, provider } = await startNotes();
    const registry = provider.create({ principal: alice });
    await registry.client("notes");
    const session: AgentSession = provider.commit(registry, {});
    const text = JSON.stringify(session);
    expect(JSON.parse(text)).toEqual(session);

    (slotsOf(session)[aliceKey] as { sessionId: string }).sessionId = "forged";
    await list(registry);
    expect(slotsOf(provider.commit(registry, {}))[aliceKey]).toMatchObject({
      sessionId: server.sessionIds[0],
    });
    await registry.dispose();
  });

  test("writes when a named session was used: now, or when its run ended", async () => {
    let time = Date.now();
    const { provider } = await startNotes({}, { now: () => time });
    const lastUse = async (session: AgentSession) => {
      const listed = await provider.list(session, { principal: alice });
      return listed.find(({ name }) => name === "research")?.lastUsedAt;
    };
    const registry = provider.create({ principal: alice });
    await registry.named.create("research");
    time += 1_000;
    expect(await lastUse(provider.commit(registry, {}))).toBe(time);
    await registry.dispose();
    const endedAt = time;
    time += 1_000;
    expect(await lastUse(provider.commit(registry, {}))).toBe(endedAt);
  });

  test("writes only the slots that changed", async () => {
    const { server, application, session } = await startSaved();
    const other = await application.step(session, list, bob);
    expect(Object.keys(slotsOf(other))).toHaveLength(2);
    expect(slotsOf(other)[aliceKey]).toEqual(slotsOf(session)[aliceKey]);

    // Another process wrote alice's slot meanwhile; bob's step must not bring the old one back.
    const registry = application.provider.create({ state: other.state, principal: bob });
    server.forgetSessions();
    await list(registry);
    await registry.dispose();
    const mcpSessions = { ...slotsOf(other), [aliceKey]: "written meanwhile" };
    const committed = application.provider.commit(registry, { state: { mcpSessions } });
    expect(slotsOf(committed)[aliceKey]).toBe("written meanwhile");
    expect(server.sessionIds).toHaveLength(3);
  });
});

describe("end, restart and clearTools", () => {
  test("leave connections alone that are not declared", async () => {
    const { server, session } = await startSaved();
    const { provider } = startApplication({ cart: notebook(server) });
    const use = { principal: alice };
    server.requests.length = 0;
    expect(await provider.list(session, use)).toEqual([]);
    expect(await provider.end(session, use)).toEqual({ session, results: [] });
    expect(await provider.restart(session, use)).toEqual({ session, results: [] });
    expect(await provider.clearTools(session, use)).toBe(session);
    await expect(
      provider.end(session, { ...use, connection: "notes" as "cart" }),
    ).rejects.toMatchObject({ code: "CONNECTION_INVALID" });
    expect(server.requests).toEqual([]);
  });

  test("mutate nothing and touch no other key", async () => {
    const { application, snapshot } = await startSaved();
    const foreign = { '["other","app"]': "whatever" };
    const given = deepFreeze({
      id: "chat-1",
      messages: [{ role: "user" }],
      state: { cart: { items: [1] }, mcpSessions: { [aliceKey]: snapshot, ...foreign } },
    });
    const { provider } = application;
    const { session: after } = await provider.end(given, { principal: alice });
    expect(after).toEqual({ ...given, state: { cart: { items: [1] }, mcpSessions: foreign } });
    expect(after.messages).toBe(given.messages);
    expect(after.state.cart).toBe(given.state.cart);
    await provider.restart(given, { principal: alice });
    await provider.clearTools(given, { principal: alice });
  });

  test.each<[string, AgentSession]>([
    ["no state", {}],
    ["state that is null", { state: null }],
    ["state without sessions", { state: { cart: 1 } }],
    ["sessions of others", { state: { mcpSessions: { '["notes","app"]': {} } } }],
  ])("return the same object for %s", async (_, session) => {
    const { server, application } = await startSaved();
    const { provider } = application;
    const use = { principal: alice };
    expect(await provider.end(session, use)).toEqual({ session, results: [] });
    expect((await provider.end(session, use)).session).toBe(session);
    expect((await provider.restart(session, use)).session).toBe(session);
    expect(await provider.clearTools(session, use)).toBe(session);
    expect(server.log).toEqual([]);
  });
});
