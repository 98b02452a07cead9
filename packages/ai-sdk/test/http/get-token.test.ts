import { describe, expect, test, vi } from "vitest";
import { authorizations, countedTokens } from "../counted-tokens.ts";
import { startNotebookServer } from "../../../sessions/test/notebook-server.ts";
import { notebook, startNotes } from "../saved-session.ts";
import { alice, bob, callTool, startApplication } from "../step.ts";

describe("getToken", () => {
  test("is asked once a step, for its principal and connection", async () => {
    const { contexts, auth } = countedTokens();
    const { application } = await startNotes({ auth });
    const use = async (registry: { tools(): Promise<any> }) => {
      const tools = await registry.tools();
      await Promise.all([1, 2, 3].map(() => callTool(tools, "notes__list_notes")));
      expect(contexts.at(-1)?.abortSignal.aborted).toBe(false);
    };
    const session = await application.step({}, use);
    expect(contexts).toHaveLength(1);
    await application.step(session, use);
    await application.step(session, use, bob);
    expect(contexts.map(({ principal }) => principal)).toEqual([alice, alice, bob]);
    expect(contexts.map(({ connection }) => connection)).toEqual(["notes", "notes", "notes"]);
    expect(contexts.map(({ abortSignal }) => abortSignal.aborted)).toEqual([true, true, true]);
  });

  test("that fails is asked once for a call, which is not sent", async () => {
    const getToken = vi.fn<() => Promise<{ token: string }>>();
    getToken.mockResolvedValue({ token: "token-1" });
    const { server, application } = await startNotes({ auth: { getToken } });
    const session = await application.step({}, (registry) => registry.tools());
    getToken.mockReset().mockRejectedValue(new Error("There is none."));
    server.requests.length = 0;
    await application.step(session, async (registry) => {
      const called = registry.call("notes", "list_notes");
      await expect(called).rejects.toMatchObject({ code: "CONNECTION_UNAVAILABLE" });
    });
    expect(getToken).toHaveBeenCalledTimes(1);
    expect(server.log).toEqual([]);
  });

  test("is not asked by a step that sends nothing", async () => {
    const { contexts, auth } = countedTokens();
    const { application } = await startNotes({ auth });
    const session = await application.step({}, (registry) => registry.tools());
    await application.step(session, (registry) => registry.tools());
    expect(contexts).toHaveLength(1);
  });

  test("gives the token of every request, of those that the session makes by itself too", async () => {
    const { auth } = countedTokens();
    const { server, application } = await startNotes({ auth });
    await application.step({}, async (registry) => {
      const tools = await registry.tools();
      server.forgetSessions();
      await callTool(tools, "notes__list_notes");
      const controller = new AbortController();
      const waiting = callTool(tools, "notes__wait", {}, controller.signal);
      await vi.waitFor(() => expect(server.waits).toEqual(["started"]));
      controller.abort();
      await expect(waiting).rejects.toThrow(/abort/i);
      await vi.waitFor(() => expect(server.waits).toEqual(["started", "aborted"]));
    });
    // The lost session is ended at any time after the recovery.
    await vi.waitFor(() => expect(server.log).toContain("DELETE"));
    expect(server.log.filter((line) => line !== "DELETE")).toEqual([
      "POST initialize",
      "POST notifications/initialized",
      "POST tools/list",
      "POST tools/call", // 404
      "POST initialize",
      "POST notifications/initialized",
      "POST tools/list",
      "POST tools/call",
      "POST tools/call",
      "POST notifications/cancelled",
    ]);
    expect(new Set(authorizations(server))).toEqual(new Set(["Bearer token-1"]));
  });

  test.each([
    ["a number", (ms: number) => ms],
    ["a date", (ms: number) => new Date(ms)],
  ])("is asked again shortly before the token expires, given as %s", async (_, expiresAt) => {
    let now = 1_000_000;
    const { contexts, auth } = countedTokens(() => ({ expiresAt: expiresAt(now + 60_000) }));
    const { server, application } = await startNotes({ auth }, { now: () => now });
    await application.step({}, async (registry) => {
      const tools = await registry.tools();
      now += 49_000;
      await callTool(tools, "notes__list_notes");
      expect(contexts).toHaveLength(1);
      now += 2_000;
      await Promise.all([1, 2, 3].map(() => callTool(tools, "notes__list_notes")));
      expect(contexts).toHaveLength(2);
      expect(authorizations(server).at(-1)).toBe("Bearer token-2");
    });
  });

  test("is asked for each request when its tokens have always expired, and never in a loop", async () => {
    const { contexts, auth } = countedTokens(() => ({ expiresAt: 0 }));
    const { application } = await startNotes({ auth });
    await application.step({}, (registry) => registry.tools());
    // Before the handshake, whose time must not be that of the token, and for each of the three requests.
    expect(contexts).toHaveLength(4);
  });

  test("is asked again after it failed", async () => {
    let count = 0;
    const getToken = () => {
      count += 1;
      if (count === 1) throw new Error("The vault is sealed.");
      return { token: "token-1" };
    };
    const { server, application } = await startNotes({ auth: { getToken } });
    await application.step({}, async (registry) => {
      expect(await registry.tools()).toEqual({});
      expect(server.requests).toEqual([]);
      expect(Object.keys(await registry.tools())).toContain("notes__add_note");
    });
    expect(application.events).toMatchObject([
      { type: "unavailable", error: { code: "CONNECTION_UNAVAILABLE" } },
      { type: "started" },
    ]);
  });

  test.each([
    ["auth.getToken", { auth: { getToken: () => fetch("http://127.0.0.1:1") } }],
    ["headers.x-tenant", { headers: { "x-tenant": () => fetch("http://127.0.0.1:1") } }],
  ])("%s that fails is no call whose outcome is unknown", async (field, options) => {
    const server = await startNotebookServer();
    const saved = startApplication({ notes: notebook(server) });
    const session = await saved.step({}, (registry) => registry.tools());
    server.requests.length = 0;
    const application = startApplication({ notes: notebook(server, options as never) });
    await application.step(session, async (registry) => {
      const tools = await registry.tools();
      await expect(callTool(tools, "notes__list_notes")).rejects.toMatchObject({
        code: "CONNECTION_UNAVAILABLE",
        data: { field, connection: "notes" },
        cause: expect.any(TypeError),
      });
    });
    expect(server.requests).toEqual([]);
  });

  test.each([null, "token", {}, { token: "" }, { token: 1 }])(
    "has to return a token: %j",
    async (token) => {
      const auth = { getToken: () => token as never };
      const { server, application } = await startNotes({ auth });
      await application.step({}, (registry) => registry.tools());
      expect(application.events).toMatchObject([
        { error: { code: "CONNECTION_INVALID", data: { field: "auth.getToken" } } },
      ]);
      expect(server.requests).toEqual([]);
    },
  );
});
