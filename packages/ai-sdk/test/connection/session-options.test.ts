import { describe, expect, test } from "vitest";
import { sendJson } from "../../../core/test/http-server.ts";
import { answer, on, startNotebookServer } from "../../../sessions/test/notebook-server.ts";
import { notebook } from "../saved-session.ts";
import { alice, callForText, callTool, startApplication } from "../step.ts";
import type { McpClientConnectionOptions, StatefulSessionOptions } from "../../src/index.ts";

/** An application with one notebook whose session has these options. */
async function start(
  session: Omit<StatefulSessionOptions, "mode">,
  options: Partial<McpClientConnectionOptions> = {},
) {
  const server = await startNotebookServer();
  const notes = notebook(server, { session: { mode: "stateful", ...session }, ...options });
  return { server, application: startApplication({ notes }) };
}

const add = (text: string) => ["notes__add_note", { text }] as const;

describe("session.onStart", () => {
  test("prepares each new session before anything else is sent on it", async () => {
    const reasons: string[] = [];
    const { server, application } = await start({
      onStart: async ({ reason, client, connection, principal }) => {
        reasons.push(`${reason} ${connection} ${principal?.type}`);
        const tools = await client.tools();
        await callTool(tools, "add_note", { text: "prepared" });
      },
    });
    let session = await application.step({}, async (registry) => {
      expect(await callForText(await registry.tools(), "notes__list_notes")).toBe("prepared");
    });
    expect(server.log).toEqual([
      "POST initialize",
      "POST notifications/initialized",
      "POST tools/list",
      "POST tools/call",
      "POST tools/call",
    ]);
    server.requests.length = 0;
    session = await application.step(session, async (registry) => {
      expect(await callForText(await registry.tools(), "notes__list_notes")).toBe("prepared");
    });
    expect(server.log).toEqual(["POST tools/call"]);
    server.forgetSessions();
    await application.step(session, async (registry) => {
      expect(await callForText(await registry.tools(), ...add("more"))).toBe("2 notes");
    });
    expect(reasons).toEqual(["started notes user", "recovered notes user"]);
  });

  test("has its own time also when a listing met the loss", { timeout: 30_000 }, async () => {
    const { server, application } = await start(
      {
        toolList: { maxLength: 0 },
        onStart: async ({ reason }) => {
          if (reason === "recovered") await new Promise((resolve) => setTimeout(resolve, 4_000));
        },
      },
      { timeouts: { connectMs: 3_000 } },
    );
    const session = await application.step({}, (registry) => registry.tools());
    server.forgetSessions();
    await application.step(session, async (registry) => {
      expect(Object.keys(await registry.tools())).toContain("notes__add_note");
    });
  });

  test("that heeds no signal is over when the step is, and its session is ended", async () => {
    let started = 0;
    const { server, application } = await start({
      onStart: async () => {
        started += 1;
        await new Promise(() => {});
      },
    });
    const controller = new AbortController();
    const { provider } = application;
    const registry = provider.create({ principal: alice, abortSignal: controller.signal });
    const tools = registry.tools();
    await expect.poll(() => started).toBe(1);
    controller.abort(new Error("left"));
    await expect(tools).rejects.toThrow("left");
    await registry.dispose();
    expect(server.log.at(-1)).toBe("DELETE");
    expect(provider.commit(registry, {})).toEqual({});
  });

  test("that fails leaves the connection out, says why, and is tried again by the next step", async () => {
    let isBroken = true;
    const { server, application } = await start({
      onStart: () => {
        if (isBroken) throw new Error("no workspace");
      },
    });
    const session = await application.step({}, async (registry) => {
      expect(await registry.tools()).toEqual({});
      await expect(registry.client("notes")).rejects.toMatchObject({
        code: "CONNECTION_UNAVAILABLE",
        data: { field: "onStart", connection: "notes" },
        cause: { message: "no workspace" },
      });
    });
    expect(session).toEqual({});
    expect(application.events).toContainEqual({
      type: "start-failed",
      connection: "notes",
      reason: "started",
    });
    expect(server.log.filter((entry) => entry === "DELETE")).toHaveLength(server.sessionIds.length);
    isBroken = false;
    await application.step(session, async (registry) => {
      expect(Object.keys(await registry.tools())).toContain("notes__add_note");
    });
  });
});

describe("session.except", () => {
  test("calls the named tools in a second session, which ends with the step", async () => {
    const { server, application } = await start({ except: ["list_notes"] });
    const session = await application.step({}, async (registry) => {
      const tools = await registry.tools();
      expect(await callForText(tools, ...add("a"))).toBe("1 notes");
      expect(await callForText(tools, "notes__list_notes")).toBe("");
      expect(await callForText(tools, ...add("b"))).toBe("2 notes");
    });
    const [main, aside] = server.sessionIds;
    expect(server.sessionIds).toHaveLength(2);
    const ended = server.requests.filter(({ method }) => method === "DELETE");
    expect(ended.map(({ headers }) => headers["mcp-session-id"] === aside)).toEqual([true]);
    expect(JSON.stringify(session)).toContain(main);
    expect(JSON.stringify(session)).not.toContain(aside);
    await application.step(session, async (registry) => {
      expect(await callForText(await registry.tools(), ...add("c"))).toBe("3 notes");
    });
    expect(server.sessionIds).toHaveLength(2);
  });
});

test("session.classifyLoss recovers from a dialect that the built-in rule does not know", async () => {
  const { server, application } = await start({
    classifyLoss: ({ status }) => (status === 502 ? "definite" : undefined),
  });
  const session = await application.step({}, async (registry) => {
    await callForText(await registry.tools(), ...add("a"));
  });
  const [old] = server.sessionIds;
  server.intercept(({ headers }, response) =>
    headers["mcp-session-id"] === old ? void response.writeHead(502).end() : "next",
  );
  await application.step(session, async (registry) => {
    expect(await callForText(await registry.tools(), ...add("b"))).toBe("1 notes");
  });
});

test('session.onLoss: "retry" keeps a session that the wrong replica refused', async () => {
  const { server, application } = await start({ onLoss: "retry" });
  const session = await application.step({}, async (registry) => {
    await callForText(await registry.tools(), ...add("a"));
  });
  let refusals = 1;
  server.intercept((_, response) =>
    refusals-- > 0 ? sendJson(response, 404, { error: "Session not found" }) : "next",
  );
  await application.step(session, async (registry) => {
    expect(await callForText(await registry.tools(), ...add("b"))).toBe("2 notes");
  });
  expect(server.sessionIds).toHaveLength(1);
});

test("timeouts.answerMs fails one hung call, and the others go on", async () => {
  const { server, application } = await start({}, { timeouts: { answerMs: 1_500 } });
  await application.step({}, async (registry) => {
    const tools = await registry.tools();
    server.intercept(
      on("tools/call", ({ message }) =>
        message.params.name === "list_notes" ? undefined : "next",
      ),
    );
    const hung = callTool(tools, "notes__list_notes");
    expect(await callForText(tools, ...add("a"))).toBe("1 notes");
    await expect(hung).rejects.toMatchObject({
      code: "OUTCOME_UNKNOWN",
      message: expect.stringContaining("nothing was read from the server for 1500 ms"),
      data: { connection: "notes" },
    });
  });
});

test("notifications reach onEvent, though @ai-sdk/mcp drops them", async () => {
  const server = await startNotebookServer({
    setUp(mcp) {
      mcp.server.registerCapabilities({ logging: {} });
      mcp.registerTool("work", {}, async ({ sendNotification }) => {
        await sendNotification({
          method: "notifications/message",
          params: { level: "info", data: "half way" },
        });
        return answer("done");
      });
    },
  });
  const notes = notebook(server);
  const { step, events } = startApplication({ notes });
  await step({}, async (registry) => {
    expect(await callForText(await registry.tools(), "notes__work")).toBe("done");
  });
  expect(events).toContainEqual({
    type: "notification",
    connection: "notes",
    method: "notifications/message",
    params: { level: "info", data: "half way" },
  });
});

describe("a session that negotiated something else than the one before", () => {
  test("has a client of its own from the next use on, and tools go on with it", async () => {
    const { server, application } = await start({});
    const session = await application.step({}, async (registry) => {
      await callForText(await registry.tools(), ...add("a"));
    });
    server.forgetSessions();
    server.intercept(({ message }) => {
      if (message?.method === "initialize") message.params.protocolVersion = "2025-06-18";
      return "next";
    });
    await application.step(session, async (registry) => {
      const tools = await registry.tools();
      const before = await registry.client("notes");
      expect(before.initializeResult.protocolVersion).toBe("2025-11-25");
      expect(await callForText(tools, ...add("b"))).toBe("1 notes");
      const after = await registry.client("notes");
      expect(after.initializeResult.protocolVersion).toBe("2025-06-18");
      expect(await registry.client("notes")).toBe(after);
      server.requests.length = 0;
      expect(await callForText(tools, ...add("c"))).toBe("2 notes");
      // The handshake of the second client stays local.
      expect(server.log).toEqual(["POST tools/call"]);
      expect(server.requests[0]?.headers["mcp-protocol-version"]).toBe("2025-06-18");
    });
    expect(application.events).toContainEqual({
      type: "recovered",
      connection: "notes",
      protocolVersion: "2025-06-18",
      changed: true,
    });
  });
});
