import { OpenTelemetry } from "@ai-sdk/otel";
import { context, type Span, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import { ToolLoopAgent } from "ai";
import { beforeEach, describe, expect, test } from "vitest";
import { collectSpans } from "../../../sessions/test/collect-spans.ts";
import { sendText } from "../../../core/test/http-server.ts";
import { startModernServer } from "../../../sessions/test/modern-server.ts";
import { on, startNotebookServer } from "../../../sessions/test/notebook-server.ts";
import { scriptedModel } from "@durable-mcp/testing/ai-sdk";
import { callForText, callTool, startApplication } from "../step.ts";
import {
  defineMcpClientConnection,
  type McpClientConnectionOptions,
  withConnections,
} from "../../src/index.ts";
import { openTelemetry } from "../../../sessions/src/opentelemetry/index.ts";

const { spans, find, outline, reset } = collectSpans();
beforeEach(reset);

const traced = (
  { url }: { url: string },
  options: Partial<McpClientConnectionOptions<undefined>> = {},
) =>
  startApplication(
    {
      notes: defineMcpClientConnection({
        url,
        description: "A notebook.",
        session: "stateful",
        ...options,
      }),
    },
    { telemetry: openTelemetry() },
  );

/** Runs in a span of the application's own. */
const inSpan = async <T>(name: string, run: () => Promise<T>): Promise<T> =>
  await trace.getTracer("application").startActiveSpan(name, async (span: Span) => {
    try {
      return await run();
    } finally {
      span.end();
    }
  });

/** A sub-agent with a session of its own. */
const runSubAgent = () =>
  inSpan("agent", () =>
    withConnections({ notes: "isolate" }, async (own) => {
      await own.call("notes", "list_notes");
    }),
  );

/** The attributes of the only span of a use that fails. */
const failing = async (
  use: (registry: any) => Promise<unknown>,
  options?: Parameters<typeof traced>[1],
) => {
  const server = await startNotebookServer();
  const application = traced(server, options);
  await application.step({}, async (registry) => {
    const tools = await registry.tools();
    reset();
    await use({ server, tools });
  });
  const [span, ...others] = spans();
  expect(others).toEqual([]);
  expect(span?.status).toEqual({ code: SpanStatusCode.ERROR });
  expect(span?.events).toEqual([]);
  return span?.attributes;
};

describe("the spans of a step", () => {
  test("nest: a listing connects, a call is below what called it", async () => {
    const application = traced(await startNotebookServer());
    await application.step({}, async (registry) => {
      const tools = await inSpan("prepare", () => registry.tools());
      await inSpan("work", async () => {
        await callTool(tools, "notes__add_note", { text: "a" });
        await callTool(tools, "notes__list_notes");
      });
    });
    expect(outline()).toBe(
      [
        "prepare",
        "  tools/list",
        "    initialize",
        "work",
        "  tools/call add_note",
        "  tools/call list_notes",
      ].join("\n"),
    );
  });

  test("say which server, which protocol and which tool, and nothing more", async () => {
    const server = await startNotebookServer();
    const application = traced(server);
    await application.step({}, async (registry) => {
      await callTool(await registry.tools(), "notes__add_note", { text: "a" });
    });
    const { hostname, port } = new URL(server.url);
    const common = {
      "durable_mcp.connection": "notes",
      "mcp.protocol.version": "2025-11-25",
      "network.transport": "tcp",
      "network.protocol.name": "http",
      "server.address": hostname,
      "server.port": Number(port),
    };
    expect(find("initialize").attributes).toEqual({
      ...common,
      "mcp.method.name": "initialize",
      "durable_mcp.session": "started",
    });
    expect(find("tools/list").attributes).toEqual({ ...common, "mcp.method.name": "tools/list" });
    expect(find("tools/call add_note").attributes).toEqual({
      ...common,
      "mcp.method.name": "tools/call",
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": "add_note",
    });
    for (const span of spans()) {
      expect(span.kind).toBe(SpanKind.CLIENT);
      expect(span.status).toEqual({ code: SpanStatusCode.UNSET });
      expect(span.events).toEqual([]);
      expect(span.instrumentationScope.name).toBe("@durable-mcp/ai-sdk");
    }
  });

  test("are below the AI SDK's own span of the tool", async () => {
    const application = traced(await startNotebookServer());
    await application.step({}, async (registry) => {
      const agent = new ToolLoopAgent({
        model: scriptedModel([{ tool: "notes__add_note", input: { text: "a" } }], "Done."),
        tools: await registry.tools(),
        telemetry: { integrations: new OpenTelemetry() },
      });
      await agent.generate({ prompt: "Keep my notes." });
    });
    const parent = find("tools/call add_note").parentSpanContext;
    const toolSpan = spans().find((span) => span.spanContext().spanId === parent?.spanId);
    expect(toolSpan?.name).toBe("execute_tool notes__add_note");
    expect(toolSpan?.instrumentationScope.name).not.toBe("@durable-mcp/ai-sdk");
  });

  test("say that a session was resumed", async () => {
    const application = traced(await startNotebookServer());
    const session = await application.step({}, (registry) => registry.tools());
    reset();
    await application.step(session, async (registry) => {
      expect(await callForText(await registry.tools(), "notes__list_notes")).toBe("");
    });
    expect(outline()).toBe("tools/list\n  initialize\ntools/call list_notes");
    expect(find("initialize").attributes).toMatchObject({ "durable_mcp.session": "resumed" });
  });

  test("are made of calls and listings of the client itself, which stays the same", async () => {
    const application = traced(await startNotebookServer());
    await application.step({}, async (registry) => {
      const client = await registry.client("notes");
      expect(await registry.client("notes")).toBe(client);
      reset();
      await client.callTool({ name: "fail", arguments: {} });
      await client.listTools();
      expect(client.serverInfo.name).toBe("notebook");
    });
    expect(outline()).toBe("tools/call fail\ntools/list");
    expect(find("tools/call fail").attributes).toMatchObject({
      "mcp.protocol.version": "2025-11-25",
      "error.type": "tool_error",
    });
  });

  test("are below what uses them in a nested run", async () => {
    const application = traced(await startNotebookServer());
    await application.step({}, (registry) =>
      registry.enter(async () => {
        await Promise.all([runSubAgent(), runSubAgent()]);
      }),
    );
    const each = ["agent", "  tools/call list_notes", "    initialize"];
    expect(outline()).toBe([...each, ...each].join("\n"));
  });

  test("are named for the request that a server without initialize gets", async () => {
    const application = traced(await startModernServer());
    await application.step({}, async (registry) => {
      await callTool(await registry.tools(), "notes__greet");
    });
    expect(outline()).toBe("tools/list\n  server/discover\ntools/call greet");
    expect(find("server/discover").attributes).toMatchObject({
      "mcp.method.name": "server/discover",
      "mcp.protocol.version": "2026-07-28",
      "durable_mcp.session": "stateless",
    });
  });

  test.each([
    ["stateless connections", "stateless", undefined],
    ["servers that name no session", "stateful", "sessionless"],
  ] as const)("are made of %s too", async (_, session, noted) => {
    const application = traced(await startNotebookServer({ isSessionless: true }), { session });
    await application.step({}, async (registry) => {
      await registry.tools();
    });
    expect(outline()).toBe("tools/list\n  initialize");
    expect(find("initialize").attributes["durable_mcp.session"]).toBe(noted);
  });

  test("come from the tracer that was given", async () => {
    const { url } = await startNotebookServer();
    const application = startApplication(
      { notes: defineMcpClientConnection({ url, description: "x" }) },
      { telemetry: openTelemetry({ tracer: trace.getTracer("own", "1.2.3") }) },
    );
    await application.step({}, (registry) => registry.tools());
    expect(find("tools/list").instrumentationScope).toMatchObject({
      name: "own",
      version: "1.2.3",
    });
  });
});

describe("a recovery", () => {
  test("is a span below the call that met the loss", async () => {
    const server = await startNotebookServer();
    const application = traced(server);
    await application.step({}, async (registry) => {
      const tools = await registry.tools();
      await callTool(tools, "notes__add_note", { text: "gone" });
      server.forgetSessions();
      reset();
      await inSpan("work", () => callTool(tools, "notes__add_note", { text: "a" }));
    });
    expect(outline()).toBe("work\n  tools/call add_note\n    recover");
    const recovery = find("recover");
    expect(recovery.kind).toBe(SpanKind.INTERNAL);
    expect(recovery.status).toEqual({ code: SpanStatusCode.UNSET });
    expect(recovery.attributes).toMatchObject({
      "durable_mcp.connection": "notes",
      "durable_mcp.session": "recovered",
      "mcp.protocol.version": "2025-11-25",
    });
    expect(find("tools/call add_note").status).toEqual({ code: SpanStatusCode.UNSET });
  });

  test("lasts as long as what prepares the new session", async () => {
    const server = await startNotebookServer();
    const application = traced(server, {
      session: {
        mode: "stateful",
        onStart: async ({ client }) => {
          await inSpan("onStart", () => client.callTool({ name: "list_notes", arguments: {} }));
        },
      },
    });
    await application.step({}, async (registry) => {
      const tools = await registry.tools();
      server.forgetSessions();
      reset();
      await callTool(tools, "notes__list_notes");
    });
    expect(outline()).toBe("tools/call list_notes\n  recover\n    onStart");
  });

  test("that the server refuses is an error, of the call too", async () => {
    const server = await startNotebookServer();
    const application = traced(server);
    await application.step({}, async (registry) => {
      const tools = await registry.tools();
      server.forgetSessions();
      server.intercept(on("initialize", (_, response) => sendText(response, 400, "Full")));
      reset();
      await expect(callTool(tools, "notes__list_notes")).rejects.toMatchObject({
        code: "SESSION_LOST",
      });
    });
    expect(find("recover")).toMatchObject({
      status: { code: SpanStatusCode.ERROR },
      attributes: { "error.type": "400", "http.response.status_code": 400 },
    });
    expect(find("tools/call list_notes").attributes).toMatchObject({
      "error.type": "SESSION_LOST",
    });
  });

  test("from a loss that an earlier step met is part of the handshake", async () => {
    const server = await startNotebookServer();
    const application = traced(server);
    let session = await application.step({}, (registry) => registry.tools());
    server.forgetSessions();
    server.intercept(on("initialize", (_, response) => sendText(response, 503, "Full")));
    session = await application.step(session, async (registry) => {
      const tools = await registry.tools();
      await expect(callTool(tools, "notes__list_notes")).rejects.toThrow("503");
    });
    server.intercept(() => "next");
    reset();
    await application.step(session, (registry) => registry.tools());
    expect(outline()).toBe("tools/list\n  initialize");
    expect(find("initialize").attributes).toMatchObject({ "durable_mcp.session": "recovered" });
  });
});

test("an operation on a named session has its name", async () => {
  const application = traced(await startNotebookServer());
  await application.step({}, async ({ named }) => {
    await named.create("login");
    reset();
    await named.run("login", (own) => own.call("notes", "list_notes"));
  });
  const { attributes } = find("tools/call list_notes");
  expect(attributes).toMatchObject({ "durable_mcp.session_name": "login" });
});

test("a wait until a server is ready has the attempts in it", async () => {
  const application = traced(await startNotebookServer());
  await application.step({}, (registry) => registry.ready("notes"));
  expect(outline()).toBe("ready\n  initialize");
  expect(find("ready").kind).toBe(SpanKind.INTERNAL);
});

describe("a failure", () => {
  test("that a tool's result reports is a tool_error", async () => {
    const attributes = await failing(({ tools }) => callTool(tools, "notes__fail"));
    expect(attributes).toMatchObject({ "error.type": "tool_error" });
  });

  test("of HTTP is the connection's, with the status", async () => {
    const attributes = await failing(async ({ server, tools }) => {
      server.intercept(on("tools/call", (_, response) => sendText(response, 503, "Busy")));
      await expect(callTool(tools, "notes__list_notes")).rejects.toThrow("503");
    });
    expect(attributes).toMatchObject({
      "error.type": "CONNECTION_UNAVAILABLE",
      "http.response.status_code": 503,
      "durable_mcp.reason": "refused",
    });
  });

  test("to connect is an error of the handshake and of what needed it", async () => {
    const server = await startNotebookServer();
    server.intercept((_, response) => sendText(response, 401, "Who are you?"));
    const application = traced(server);
    await application.step({}, (registry) => registry.tools());
    for (const name of ["initialize", "tools/list"]) {
      expect(find(name)).toMatchObject({
        status: { code: SpanStatusCode.ERROR },
        attributes: { "error.type": "CONNECTION_UNAVAILABLE", "http.response.status_code": 401 },
      });
    }
  });
});

describe("telemetry", () => {
  test("leaves the context of the caller as it was", async () => {
    const application = traced(await startNotebookServer());
    const before = context.active();
    await application.step({}, (registry) => registry.tools());
    expect(context.active()).toBe(before);
  });
});
