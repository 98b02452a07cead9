import { describe, expect, test } from "vitest";
import { sendJson, sendText } from "../../../core/test/http-server.ts";
import { startModernServer } from "../../../sessions/test/modern-server.ts";
import { on, startNotebookServer } from "../../../sessions/test/notebook-server.ts";
import { startSseServer } from "../../../sessions/test/sse-server.ts";
import { alice, callForText, callTool, startApplication } from "../step.ts";
import { defineMcpClientConnection, type McpClientConnectionOptions } from "../../src/index.ts";

const day = 86_400_000;
const sessions = ["stateful", "stateless"] as const;

const define = ({ url }: { url: string }, options: Partial<McpClientConnectionOptions> = {}) =>
  defineMcpClientConnection({ url, description: "A server.", session: "stateful", ...options });

async function useModern(registry: any) {
  const tools = await registry.tools();
  expect(await callForText(tools, "modern__greet")).toBe("hello from greet");
  expect(await registry.instructions()).toEqual({ modern: "Be modern." });
}

describe("a server that only knows revisions without sessions", () => {
  test("is used without a session, and the next step does not try initialize", async () => {
    const server = await startModernServer();
    let now = 1_000_000;
    const application = startApplication({ modern: define(server) }, { now: () => now });
    let session = await application.step({}, useModern);
    const pass = ["POST server/discover", "POST tools/list", "POST tools/call"];
    expect(server.log).toEqual(["POST initialize", ...pass]);
    expect(application.events).toEqual([{ type: "stateless", connection: "modern" }]);
    expect(session.state).toEqual({
      mcpSessions: {
        '["modern","user","https://idp.test","alice"]': {
          version: 1,
          kind: "stateless",
          url: server.url,
          decidedAt: 1_000_000,
        },
      },
    });

    server.requests.length = 0;
    now += day;
    expect(await application.step(session, useModern)).toEqual(session);
    expect(server.log).toEqual(pass);

    server.requests.length = 0;
    now += 1;
    session = await application.step(session, useModern);
    expect(server.log).toEqual(["POST initialize", ...pass]);
    expect(JSON.stringify(session)).toContain(String(now));
  });

  test("is used by a stateless connection without any of that", async () => {
    const server = await startModernServer();
    const application = startApplication({ modern: define(server, { session: "stateless" }) });
    const session = await application.step({}, async (registry) => {
      expect(await callForText(await registry.tools(), "modern__greet")).toBe("hello from greet");
    });
    expect(server.log).toEqual(["POST server/discover", "POST tools/list", "POST tools/call"]);
    expect(session).toEqual({});
    expect(application.events).toEqual([]);
  });
});

describe("a server that only knows HTTP+SSE", () => {
  test.each([
    ["stateful", 400],
    ["stateful", 404],
    ["stateful", 405],
    ["stateless", 400],
    ["stateless", 404],
    ["stateless", 405],
  ] as const)("is used over that, with no session kept: %s, %i", async (session, status) => {
    const server = await startSseServer(status);
    const application = startApplication({ old: define(server, { session }) });
    const saved = await application.step({}, async (registry) => {
      expect(await callForText(await registry.tools(), "old__greet")).toBe("hello");
    });
    expect(saved).toEqual({});
    expect(application.events).toEqual([{ type: "sse-fallback", connection: "old" }]);
  });

  test("is used over that by a step after one that lost a session for good", async () => {
    const server = await startSseServer(404);
    const application = startApplication({ old: define(server) });
    const key = '["old","user","https://idp.test","alice"]';
    const lost = { version: 1, kind: "sessionless", url: server.url, lost: {} };
    const saved = { state: { mcpSessions: { [key]: lost } } };
    await application.step(saved, async (registry) => {
      expect(await callForText(await registry.tools(), "old__greet")).toBe("hello");
    });
    expect(application.events).toContainEqual({ type: "sse-fallback", connection: "old" });
  });

  test.each(sessions)("gets token and headers with all requests: %s", async (session) => {
    const server = await startSseServer(404);
    const auth = { getToken: () => ({ token: "token-1" }) };
    const headers = { "x-api-key": "key" };
    const application = startApplication({ old: define(server, { session, auth, headers }) });
    await application.step({}, async (registry) => {
      await callTool(await registry.tools(), "old__greet");
    });
    expect(server.log).toContain("GET");
    expect(server.requests.map(({ path }) => path)).toContainEqual(
      expect.stringMatching(/^\/messages\?sessionId=/),
    );
    for (const { headers: received } of server.requests) {
      expect(received).toMatchObject({ authorization: "Bearer token-1", "x-api-key": "key" });
    }
  });

  test("gets headers with all requests, without a token as well", async () => {
    const server = await startSseServer(404);
    const headers = { "x-api-key": () => "key" };
    const old = define(server, { session: "stateless", headers });
    await startApplication({ old }).step({}, (registry) => registry.tools());
    expect(new Set(server.requests.map(({ headers: { "x-api-key": key } }) => key))).toEqual(
      new Set(["key"]),
    );
  });

  test.each(sessions)("is not looked for after another refusal: %s", async (session) => {
    for (const status of [401, 403, 406, 429, 500, 503]) {
      const server = await startSseServer(status);
      const { provider, events } = startApplication({ old: define(server, { session }) });
      await using registry = provider.create({ principal: alice });
      expect(await registry.tools()).toEqual({});
      expect(events).toMatchObject([{ type: "unavailable", error: { data: { status } } }]);
      // Where we do not stand in between, `@ai-sdk/mcp` opens its own stream after the probe.
      const gets = server.log.filter((line) => line === "GET");
      expect(gets).toHaveLength(session === "stateless" ? 1 : 0);
    }
  });

  test("is reported with the first refusal when it is not there either", async () => {
    const server = await startNotebookServer();
    server.intercept(({ method }, response) => {
      sendText(response, method === "GET" ? 500 : 404, method === "GET" ? "second" : "first");
    });
    const { provider, events } = startApplication({ old: define(server) });
    await using registry = provider.create({ principal: alice });
    await registry.tools();
    expect(events).toMatchObject([{ type: "unavailable", error: { data: { status: 404 } } }]);
    await expect(registry.client("old")).rejects.toMatchObject({
      data: { status: 404 },
      cause: { message: expect.stringContaining("first") },
    });
  });

  test.each(sessions)(
    "is not looked for when only notifications/initialized is refused: %s",
    async (session) => {
      const server = await startNotebookServer({ isSessionless: true });
      server.intercept(
        on("notifications/initialized", (_, response) => sendText(response, 404, "not here")),
      );
      const { provider, events } = startApplication({ old: define(server, { session }) });
      await using registry = provider.create({ principal: alice });
      expect(await registry.tools()).toEqual({});
      expect(events.at(-1)).toMatchObject({
        type: "unavailable",
        error: { data: { status: 404 } },
      });
      expect(server.log.filter((line) => line === "POST initialize")).toHaveLength(1);
      const gets = server.requests.filter(({ method }) => method === "GET");
      // The streams that `@ai-sdk/mcp` opens over Streamable HTTP, where nothing keeps it from it.
      expect(gets.length).toBe(session === "stateless" ? 1 : 0);
    },
  );

  test.each([400, 404, 405])(
    "is not looked for when a session was being resumed: %i",
    async (status) => {
      const server = await startNotebookServer();
      const application = startApplication({ old: define(server) });
      const session = await application.step({}, (registry) => registry.tools());
      application.takeEvents();
      server.requests.length = 0;
      server.intercept((_, response) => sendText(response, status, "not here"));
      await application.step(session, async (registry) => {
        const tools = await registry.tools();
        await expect(callTool(tools, "old__list_notes")).rejects.toThrow(
          /not here|no longer knows|for the session and for a new one alike/,
        );
        await registry.client("old");
      });
      expect(server.requests.length).toBeGreaterThan(0);
      expect(server.log).not.toContain("GET");
      expect(application.takeEvents()).not.toContain("sse-fallback");
    },
  );

  test("is not looked for when the server is of the later era, and broken", async () => {
    const server = await startModernServer({ isBroken: true });
    const application = startApplication({ modern: define(server) });
    await application.step({}, (registry) => registry.tools());
    expect(application.takeEvents()).toEqual(["stateless", "unavailable"]);
    // The one that `@ai-sdk/mcp` opens before `initialize` when the probe fails.
    expect(server.log.filter((line) => line === "GET")).toHaveLength(1);
  });
});

describe("a server that names no session", () => {
  test("is never sent a call twice, not after a 404 either", async () => {
    const server = await startNotebookServer({ isSessionless: true });
    const application = startApplication({ plain: define(server) });
    await application.step({}, async (registry) => {
      const tools = await registry.tools();
      server.requests.length = 0;
      server.intercept(
        on("tools/call", (_, response) => {
          const error = { code: -32001, message: "Session not found" };
          sendJson(response, 404, { jsonrpc: "2.0", id: null, error });
        }),
      );
      await expect(callTool(tools, "plain__list_notes")).rejects.toThrow("Session not found");
    });
    expect(server.log).toEqual(["POST tools/call"]);
  });
});
