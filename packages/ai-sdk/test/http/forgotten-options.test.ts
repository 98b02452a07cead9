/** What an application hears that left out `session`, `waiting` or `onElicitation` where its server needs it. */
import { createMemoryStore } from "@durable-mcp/core";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { startAskingServer } from "../../../sessions/test/asking-server.ts";
import { collectEvents } from "../collect-events.ts";
import { startNotebookServer } from "../../../sessions/test/notebook-server.ts";
import { scriptedModel } from "@durable-mcp/testing/ai-sdk";
import { alice, callForText, callTool, startApplication } from "../step.ts";
import { createDurableAgent } from "../../src/agent/durable-agent.ts";
import {
  createConnectionProvider,
  createDurableSessions,
  currentConnections,
  defineMcpClientConnection,
  type McpClientConnectionOptions,
} from "../../src/index.ts";

const warn = vi.spyOn(console, "warn");
beforeEach(() => void warn.mockReset().mockReturnValue(undefined));
afterEach(() => void warn.mockReset());
const warnings = () => warn.mock.calls.map(([text]) => String(text));

const define = (url: string, options: Partial<McpClientConnectionOptions> = {}) =>
  defineMcpClientConnection({ url, description: "Notes.", ...options });
const use = { principal: alice };
const unused = { type: "session-unused", connection: "notes" };

describe("a server that gives session ids to a connection without `session`", () => {
  test("is said once a process on the console, with the option", async () => {
    const { url } = await startNotebookServer();
    const connections = { notes: define(url) };
    const sessions = createDurableSessions({ connections, store: createMemoryStore() });
    for (const chat of ["a", "a", "b"]) {
      await sessions.run(chat, use, async (run) =>
        callForText(await run.tools(), "notes__list_notes"),
      );
    }
    expect(warnings()).toEqual([
      expect.stringMatching(
        /^Connection notes: .* gives session ids, and this connection keeps none: add session: "stateful"/,
      ),
    ]);
  });

  test("is an event with a store, a state, and in a durable agent", async () => {
    const { url } = await startNotebookServer();
    const connections = { notes: define(url) };
    const { onEvent, events } = collectEvents();
    const store = createMemoryStore();
    const sessions = createDurableSessions({ connections, store, onEvent });
    for (const chat of ["a", "b"]) await sessions.run(chat, use, (run) => run.tools());
    expect(events.splice(0)).toEqual([unused]);

    const application = startApplication(connections);
    for (const _ of [1, 2]) await application.step({}, (registry) => registry.tools());
    expect(application.events).toEqual([unused]);

    const model = scriptedModel("Done.");
    const agent = createDurableAgent({ connections, store, model, onEvent });
    await agent.generate({ prompt: "Hi.", options: { sessionId: "chat", ...use } });
    expect(events).toEqual([unused]);
    expect(warnings()).toEqual([]);
  });

  test('is none where "stateless" was said, the server gives none, or nothing is kept', async () => {
    const { onEvent, events } = collectEvents();
    const [server, other] = [
      await startNotebookServer(),
      await startNotebookServer({ isSessionless: true }),
    ];
    const store = createMemoryStore();
    for (const notes of [define(server.url, { session: "stateless" }), define(other.url)]) {
      const sessions = createDurableSessions({ connections: { notes }, store, onEvent });
      await sessions.run("chat", use, (run) => run.tools());
    }
    const provider = createConnectionProvider({
      connections: { notes: define(server.url) },
      onEvent,
    });
    await currentConnections({ ephemeral: true, provider, ...use }).tools();
    expect(server.sessionIds).toHaveLength(2);
    expect(events).toEqual([]);
  });

  test('gets what it gets with "stateless", byte for byte', async () => {
    const sent: unknown[] = [];
    for (const session of [undefined, "stateless"] as const) {
      const server = await startNotebookServer();
      const fetch: typeof globalThis.fetch = async (input, init) => {
        const headers = [...new Headers(init?.headers)].filter(
          ([name]) => name !== "mcp-session-id",
        );
        sent.push({ session, body: init?.body, headers });
        return await globalThis.fetch(input, init);
      };
      const { step } = startApplication({ notes: define(server.url, { session, fetch }) });
      await step({}, async (registry) => {
        await callForText(await registry.tools(), "notes__list_notes");
      });
    }
    const of = (session: unknown) =>
      sent
        .filter((each) => (each as { session?: unknown }).session === session)
        .map((each) => ({ ...(each as object), session: undefined }));
    expect(of(undefined)).toEqual(of("stateless"));
    expect(of(undefined)).not.toEqual([]);
  });
});

const accept = () => ({ action: "accept", content: { confirmed: true } }) as const;

/** A server as the specification wants it: it refuses calls of a client that cannot ask. */
const refusing = () =>
  startAskingServer({
    answer: ({ params }) => {
      const meta = (params as { _meta?: Record<string, object> })["_meta"] ?? {};
      const capabilities = meta["io.modelcontextprotocol/clientCapabilities"] ?? {};
      if ("elicitation" in capabilities) return undefined;
      const data = { requiredCapabilities: { elicitation: {} } };
      return { status: 400, error: { code: -32_021, message: "Missing capability", data } };
    },
  });

describe.each([
  ["refuses for want of the capability", refusing],
  ["asks without the capability", startAskingServer],
])("a server that asks a person, and %s", (_, startServer) => {
  test("fails the call with what to add, and is an event, and a line on the console", async () => {
    const { url, legs } = await startServer();
    const { onEvent, events } = collectEvents();
    const connections = { shop: define(url) };
    const store = createMemoryStore();
    for (const observe of [onEvent, undefined]) {
      const sessions = createDurableSessions({ connections, store, onEvent: observe });
      const call = sessions.run("chat", use, async (run) =>
        callTool(await run.tools(), "shop__order"),
      );
      await expect(call).rejects.toMatchObject({
        code: "CONNECTION_INVALID",
        data: { connection: "shop", field: "connections.shop.waiting" },
        message: expect.stringMatching(/^Connection shop: .*waiting: true.*onElicitation/),
      });
    }
    expect(events).toEqual([{ type: "cannot-ask", connection: "shop" }]);
    expect(warnings()).toEqual([
      expect.stringMatching(/^Connection shop: .*waiting: true.*onElicitation/),
    ]);
    expect(legs).toHaveLength(2);
  });

  test("is answered where somebody can be asked", async () => {
    const { url } = await startServer();
    const { onEvent, events } = collectEvents();
    const connections = { shop: define(url, { onElicitation: accept }) };
    const sessions = createDurableSessions({ connections, store: createMemoryStore(), onEvent });
    const text = await sessions.run("chat", use, async (run) =>
      callForText(await run.tools(), "shop__order"),
    );
    expect(text).toContain("is done");
    expect(events).toEqual([]);
  });
});

test.each([
  ["/", 404, true],
  ["/sse", 405, true],
  ["/mcp", 404, false],
  ["/api/mcp/", 404, false],
  ["/", 500, false],
])("at %s, HTTP %d is told with the usual path: %s", async (path, status, isTold) => {
  const server = await startNotebookServer();
  server.intercept((_, response) => void response.writeHead(status).end());
  const notes = define(`${server.origin}${path}`, { session: "stateful" });
  const { step } = startApplication({ notes });
  let message = "";
  await step({}, async (registry) => {
    await registry.tools({ onUnavailable: "throw" }).catch((error: Error) => ({ message } = error));
  });
  expect(message).toContain(`HTTP ${status}`);
  expect(message.includes("MCP servers are often at /mcp")).toBe(isTold);
});

describe("a tool that is called after its run", () => {
  test("fails, and is said once on the console", async () => {
    const { url } = await startNotebookServer();
    const connections = { notes: define(url, { session: "stateful" }) };
    const sessions = createDurableSessions({ connections, store: createMemoryStore() });
    const tools = await sessions.run("chat", use, (step) => step.tools());
    for (const tool of ["notes__list_notes", "notes__add_note"]) {
      await expect(callTool(tools, tool, { text: "a" })).rejects.toThrow(/run is over/);
    }
    expect(warnings()).toEqual([
      expect.stringMatching(/^Connection notes: a tool was called after its run was over/),
    ]);
  });

  test("is an event each time", async () => {
    const { url } = await startNotebookServer();
    const connections = { notes: define(url, { session: "stateful" }) };
    const { onEvent, events } = collectEvents();
    const sessions = createDurableSessions({ connections, store: createMemoryStore(), onEvent });
    const tools = await sessions.run("chat", use, (step) => step.tools());
    events.length = 0;
    await callTool(tools, "notes__list_notes").catch(() => undefined);
    await callTool(tools, "notes__list_notes").catch(() => undefined);
    const told = { type: "used-after-run", connection: "notes" };
    expect(events).toEqual([told, told]);
    expect(warnings()).toEqual([]);
  });
});

test("a required connection that is unavailable is named, whatever has failed", async () => {
  const server = await startNotebookServer();
  const notes = define(server.url, { session: "stateful", required: true });
  const { step } = startApplication({ notes });
  const session = await step({}, (registry) => registry.tools());
  const messageOf = async (state: typeof session) => {
    let message = "";
    await step(state, async (registry) => {
      await registry.tools().catch((error: Error) => ({ message } = error));
    });
    return message;
  };
  server.intercept((_, response) => void response.writeHead(500).end());
  expect(await messageOf(session)).toMatch(/^Connection notes is required: /);
  expect(await messageOf({})).toMatch(/^Connection notes is required: the server at /);
});
