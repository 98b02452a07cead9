/** `providedArguments`: the application's arguments, which no model sees. */
import { createMemoryStore } from "@durable-mcp/core";
import { asSchema, type ToolSet } from "ai";
import { describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { collectSpans } from "../../../sessions/test/collect-spans.ts";
import { sendJson, startHttpServer } from "../../../core/test/http-server.ts";
import {
  answer,
  type NotebookServer,
  on,
  startNotebookServer,
} from "../../../sessions/test/notebook-server.ts";
import { scriptedModel, toolResults } from "@durable-mcp/testing/ai-sdk";
import { alice, callForText, callTool, startApplication } from "../step.ts";
import {
  createDurableAgent,
  createDurableSessions,
  defineMcpClientConnection,
  type McpClientConnectionOptions,
  type ProvidedArgumentContext,
} from "../../src/index.ts";
import { openTelemetry } from "../../../sessions/src/opentelemetry/index.ts";

const { spans, reset } = collectSpans();

const secret = "a-secret-of-the-application";

const say = (input: object) => answer(JSON.stringify(input));

/** A server whose tools take the application's arguments, and say what came. */
async function startShop() {
  const server = await startNotebookServer({
    setUp(mcp) {
      const inputSchema = {
        workspaceId: z.string(),
        token: z.string(),
        text: z.string().optional(),
      };
      mcp.registerTool("add_item", { inputSchema }, say);
      mcp.registerTool("find", { inputSchema: { workspaceId: z.string().optional() } }, say);
      mcp.server.registerCapabilities({ logging: {} });
      mcp.registerTool("tell", { inputSchema }, async ({ token }, extra: any) => {
        const { progressToken } = extra["_meta"];
        const { authorization } = extra.requestInfo.headers;
        const message = `${token} of ${authorization}`;
        const params = { level: "info", data: { message } };
        await extra.sendNotification({ method: "notifications/message", params });
        const progress = { progressToken, progress: 1, message };
        await extra.sendNotification({ method: "notifications/progress", params: progress });
        return say({ told: true });
      });
      mcp.registerTool("refuse", { inputSchema }, ({ token }) => {
        throw new Error(`The token ${token} has expired.`);
      });
    },
  });
  return server;
}

const shop = ({ url }: NotebookServer, options: Partial<McpClientConnectionOptions> = {}) =>
  defineMcpClientConnection({
    url,
    description: "A shop.",
    session: "stateful",
    providedArguments: { workspaceId: "w1", token: () => Promise.resolve(secret) },
    ...options,
  });

const schemaOf = async (tools: ToolSet, name: string): Promise<any> =>
  await asSchema(tools[name]!.inputSchema as never).jsonSchema;

const sent = (server: NotebookServer) =>
  server.requests.filter(({ message }) => message?.method === "tools/call");

describe("provided arguments", () => {
  test.each(["stateful", "stateless"] as const)(
    "are not in the schema, and are added to each call: %s",
    async (session) => {
      const server = await startShop();
      const application = startApplication({ shop: shop(server, { session }) });
      const state = await application.step({}, async (registry) => {
        const tools = await registry.tools();
        const { properties, required } = await schemaOf(tools, "shop__add_item");
        expect([Object.keys(properties), required]).toEqual([["text"], []]);
        const input = Object.freeze({ text: "milk", token: "the model's" });
        expect(JSON.parse(await callForText(tools, "shop__add_item", input))).toEqual({
          text: "milk",
          workspaceId: "w1",
          token: secret,
        });
        const { content } = await registry.call("shop", "add_item", { text: "a" });
        expect(JSON.stringify(content)).toContain(secret);
        const own = await registry.call("shop", "find");
        expect(own.content).toEqual([{ type: "text", text: '{"workspaceId":"w1"}' }]);
      });
      expect(JSON.stringify([state, application.events])).not.toContain(secret);
    },
  );

  test("are asked once for a call, even for one that is sent again, with principal, session and tool", async () => {
    const server = await startShop();
    const contexts: ProvidedArgumentContext[] = [];
    const token = (context: ProvidedArgumentContext) => {
      contexts.push(context);
      return `${secret}-${contexts.length}`;
    };
    const sessions = createDurableSessions({
      connections: { shop: shop(server, { providedArguments: { workspaceId: "w1", token } }) },
      store: createMemoryStore(),
      onEvent: () => undefined,
    });
    for (const chat of ["one", "two"]) {
      await sessions.run(chat, { principal: alice }, async (run) => {
        const tools = await run.tools();
        server.forgetSessions();
        await callTool(tools, "shop__add_item", { text: chat });
      });
    }
    await sessions.shutdown();
    const tokens = sent(server).map(({ message }) => message.params.arguments.token);
    expect(tokens).toEqual([1, 1, 2, 2].map((count) => `${secret}-${count}`));
    expect(contexts).toEqual(
      ["one", "two"].map((sessionId) => ({
        principal: alice,
        connection: "shop",
        sessionId,
        tool: "add_item",
        toolCallId: "call-1",
        abortSignal: expect.any(AbortSignal),
      })),
    );
  });

  test("are in no message of an agent, no approval, no span and no event", async () => {
    const server = await startShop();
    reset();
    const events: unknown[] = [];
    const sessions = createDurableSessions({
      connections: { shop: shop(server, { tools: { allow: ["refuse"] } }) },
      store: createMemoryStore(),
      telemetry: openTelemetry(),
      onEvent: { every: (event) => events.push(event) },
    });
    const model = scriptedModel([{ tool: "shop__refuse", input: { text: "milk" } }], "Done.");
    const agent = createDurableAgent({ sessions, model });
    const options = { sessionId: "chat", principal: alice };
    const { steps } = await agent.generate({ prompt: "Go.", options });
    expect(toolResults(model)).toEqual(["The token [redacted] has expired."]);
    expect(sent(server)[0]!.message.params.arguments.token).toBe(secret);
    const told = spans().map(({ name, attributes, status, events: own }) => [
      name,
      attributes,
      status,
      own,
    ]);
    expect(told.length).toBeGreaterThan(1);
    const seen = [steps, model.doGenerateCalls, events, told];
    expect(JSON.stringify(seen)).not.toContain(secret);
  });

  test("are scrubbed, like the headers, from what the server tells during the call", async () => {
    const server = await startShop();
    const seen: unknown[] = [];
    const definition = shop(server, {
      auth: () => "token-of-alice",
      onProgress: (progress) => void seen.push(progress),
    });
    const { events, step } = startApplication({ shop: definition });
    await step({}, async (registry) => {
      await Promise.all([1, 2].map(() => registry.call("shop", "tell")));
    });
    const message = "[redacted] of Bearer [redacted]";
    const told = events.filter(({ type }) => type === "notification");
    expect(told).toMatchObject([
      { params: { data: { message } } },
      { params: { data: { message } } },
    ]);
    expect(seen).toEqual([1, 2].map(() => ({ progress: 1, message })));
  });

  test("are scrubbed from errors of the server that quote them", async () => {
    const server = await startShop();
    const { step, events } = startApplication({ shop: shop(server) });
    server.intercept(
      on("tools/call", ({ message }, response) => {
        const error = { code: -32602, message: `Bad token ${secret}.`, data: { token: secret } };
        sendJson(response, 200, { jsonrpc: "2.0", id: message.id, error });
      }),
    );
    await step({}, async (registry) => {
      const tools = await registry.tools();
      for (const call of [
        () => callTool(tools, "shop__add_item"),
        () => registry.call("shop", "add_item"),
      ]) {
        const error = await call().catch((thrown: unknown) => thrown as Error);
        expect(error).toMatchObject({ message: "Bad token [redacted].", code: -32602 });
        const printed = JSON.stringify([error, (error as Error).stack, (error as Error).cause]);
        expect(printed).not.toContain(secret);
      }
    });
    expect(JSON.stringify(events)).not.toContain(secret);
  });
});

describe("a function of provided arguments", () => {
  test.each<[string, () => unknown, string, RegExp]>([
    [
      "that throws",
      () => {
        throw new Error(`no ${secret}`);
      },
      "CONNECTION_UNAVAILABLE",
      /^Connection shop: providedArguments\.token failed; see the cause\. The call of add_item was not sent\./,
    ],
    ["that hangs", () => new Promise(() => undefined), "CONNECTION_UNAVAILABLE", /failed/],
    ["that returns no JSON", () => new Map([[secret, secret]]), "CONNECTION_INVALID", /JSON value/],
    ["that returns nothing", () => undefined, "CONNECTION_INVALID", /JSON value/],
  ])("%s fails the call, which is not sent", async (what, token, code, message) => {
    const server = await startShop();
    const { step, events } = startApplication({
      shop: shop(server, {
        providedArguments: { token: token as never },
        ...(what === "that hangs" && { timeouts: { connectMs: 600 } }),
      }),
    });
    await step({}, async (registry) => {
      const tools = await registry.tools();
      const error = await callTool(tools, "shop__add_item").catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({
        code,
        message: expect.stringMatching(message),
        data: { connection: "shop", field: "providedArguments.token" },
      });
      expect((error as Error).message).not.toContain(secret);
    });
    expect(sent(server)).toEqual([]);
    const told = events.map(({ type }) => type).filter((type) => type === "unavailable");
    expect(told).toHaveLength(code === "CONNECTION_UNAVAILABLE" ? 1 : 0);
    expect(JSON.stringify(events)).not.toContain(secret);
  });

  test("ends with its call", async () => {
    const server = await startShop();
    let signal: AbortSignal | undefined;
    const token = (context: ProvidedArgumentContext) => {
      signal = context.abortSignal;
      return new Promise<string>(() => undefined);
    };
    const { step } = startApplication({ shop: shop(server, { providedArguments: { token } }) });
    await step({}, async (registry) => {
      const tools = await registry.tools();
      const controller = new AbortController();
      const call = callTool(tools, "shop__add_item", {}, controller.signal);
      await vi.waitFor(() => expect(signal).toBeDefined());
      const reason = new Error("Enough.");
      controller.abort(reason);
      await expect(call).rejects.toBe(reason);
      expect(signal?.aborted).toBe(true);
    });
    expect(sent(server)).toEqual([]);
  });
});

test("headers that mirror arguments are made of what is sent", async () => {
  const calls: unknown[] = [];
  const inputSchema = {
    type: "object",
    properties: {
      region: { type: "string", "x-mcp-header": "Region" },
      text: { type: "string" },
    },
    required: ["region"],
    anyOf: [{ required: ["region"] }, { required: ["text"] }],
  };
  const server = await startHttpServer(({ message, headers }, response) => {
    const results: Record<string, object> = {
      "server/discover": { supportedVersions: ["2026-07-28"], capabilities: { tools: {} } },
      "tools/list": { tools: [{ name: "find", inputSchema }] },
      "tools/call": answer("found"),
    };
    if (message.method === "tools/call") {
      calls.push([headers["mcp-param-region"], message.params.arguments]);
    }
    const result = { resultType: "complete", ...results[message.method] };
    sendJson(response, 200, { jsonrpc: "2.0", id: message.id, result });
  });
  const connection = defineMcpClientConnection({
    url: `${server.origin}/mcp`,
    description: "A shop.",
    providedArguments: { region: ({ principal }) => `eu-${principal?.type}` },
  });
  await startApplication({ shop: connection }).step({}, async (registry) => {
    const tools = await registry.tools();
    expect(await schemaOf(tools, "shop__find")).toMatchObject({
      properties: { text: { type: "string" } },
      required: [],
      anyOf: [{ required: [] }, { required: ["text"] }],
    });
    await callTool(tools, "shop__find", { text: "milk" });
    await registry.call("shop", "find", { region: "us" });
  });
  expect(calls).toEqual([
    ["eu-user", { text: "milk", region: "eu-user" }],
    ["eu-user", { region: "eu-user" }],
  ]);
});

test("an application's own schemas leave them out", async () => {
  const server = await startShop();
  const text = z.string();
  const withSchemas = (inputSchema: z.ZodObject) =>
    startApplication({ shop: shop(server, { schemas: { add_item: { inputSchema } } }) });
  await withSchemas(z.object({ text })).step({}, async (registry) => {
    const tools: ToolSet = await registry.tools();
    expect(await callForText(tools, "shop__add_item", { text: "a" })).toContain(secret);
  });
  await withSchemas(z.object({ text, token: text })).step({}, async (registry) => {
    await expect(registry.tools({ onUnavailable: "throw" })).rejects.toMatchObject({
      code: "CONNECTION_INVALID",
      message: expect.stringMatching(/schemas\.add_item\.inputSchema has token.*Leave it out/),
      data: { connection: "shop", field: "schemas.add_item.inputSchema" },
    });
  });
});

const circle: Record<string, unknown> = {};
circle["circle"] = circle;

test.each([
  ["a date", new Date(0)],
  ["no number", Number.NaN],
  ["nothing", undefined],
  ["a promise", Promise.resolve("x")],
  ["a circle", circle],
])("%s is no provided argument", (_, value) => {
  const define = () =>
    defineMcpClientConnection({
      url: "http://127.0.0.1/mcp",
      description: "x",
      providedArguments: { token: value as never },
    });
  expect(define).toThrow(
    expect.objectContaining({
      code: "CONNECTION_INVALID",
      data: { field: "providedArguments.token" },
    }),
  );
});
