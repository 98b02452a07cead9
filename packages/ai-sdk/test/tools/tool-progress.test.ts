/** A call's progress, on its way from the server to the application. */
import type { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { createMemoryStore } from "@durable-mcp/core";
import { describe, expect, test } from "vitest";
import { startHttpServer } from "../../../core/test/http-server.ts";
import { answer, startNotebookServer } from "../../../sessions/test/notebook-server.ts";
import { describingProgram } from "../../../sessions/test/describing-program.ts";
import { startModernServer } from "../../../sessions/test/modern-server.ts";
import { startSseServer } from "../../../sessions/test/sse-server.ts";
import { alice, callTool, startApplication } from "../step.ts";
import {
  createDurableSessions,
  defineMcpClientConnection,
  type McpClientConnectionOptions,
} from "../../src/index.ts";
import { defineMcpStdioConnection } from "../../src/stdio.ts";
import type { ToolProgress } from "../../../sessions/src/declare/tool-options.ts";

/** A tool that reports these, */
function registerReports(mcp: McpServer, reports: readonly object[]) {
  const report = async (extra: any) => {
    const progressToken = extra["_meta"]?.progressToken;
    if (progressToken === undefined) return "nobody asked";
    for (const params of reports) {
      const progress = { progressToken, ...params };
      await extra.sendNotification({ method: "notifications/progress", params: progress });
    }
    return "asked";
  };
  mcp.registerTool("count", { description: "Counts." }, async (extra) =>
    answer(await report(extra)),
  );
}

const reports = [
  { progress: 1, total: 3, message: "one" },
  { progress: 2, total: 3 },
];

type Options = Partial<McpClientConnectionOptions>;

async function startCounter(options: Options = {}, sent: readonly object[] = reports) {
  const server = await startNotebookServer({ setUp: (mcp) => registerReports(mcp, sent) });
  const seen: [ToolProgress, object][] = [];
  const notes = defineMcpClientConnection({
    url: server.url,
    description: "A counter.",
    session: "stateful",
    onProgress: (progress, call) => void seen.push([progress, call]),
    ...options,
  });
  const { provider, events } = startApplication({ notes });
  const registry = provider.create({ principal: alice });
  /** The parameters of the calls. */
  const calls = (): any[] =>
    server.requests.flatMap(({ message }) =>
      message?.method === "tools/call" ? [message.params] : [],
    );
  return { server, registry, events, seen, calls };
}

const text = "asked";

describe.each(["stateful", "stateless"] as const)("onProgress on a %s connection", (session) => {
  test("gets what the server reports, before the result, and not the token", async () => {
    const { registry, seen, events, calls } = await startCounter({ session });
    const progress: ToolProgress[] = [];
    const result = await registry.call(
      "notes",
      "count",
      {},
      {
        onProgress: (each) => void progress.push(each),
      },
    );
    expect(result.content).toEqual([{ type: "text", text }]);
    expect(progress).toEqual(reports);
    expect(seen.map(([each]) => each)).toEqual(reports);
    const [[, call]] = seen as [[ToolProgress, object]];
    expect(call).toMatchObject({ principal: alice, connection: "notes", tool: "count" });
    const [{ ["_meta"]: meta, ...params }] = calls();
    expect(params).toEqual({ name: "count", arguments: {} });
    expect(events.map(({ type }) => type)).toEqual(session === "stateful" ? ["started"] : []);
    expect(meta.progressToken).toBeTypeOf("string");
    expect(JSON.stringify([seen, events])).not.toContain(meta.progressToken);
  });

  test("gets the progress of calls at once apart from each other", async () => {
    const { registry, seen } = await startCounter({ session });
    const tools = await registry.tools();
    const count = tools["notes__count"]!.execute!;
    const use = { messages: [], context: {} };
    await Promise.all(
      ["a", "b"].map(async (toolCallId) => await count({}, { ...use, toolCallId })),
    );
    for (const id of ["a", "b"]) {
      const own = seen.filter(([, call]) => (call as { toolCallId?: string }).toolCallId === id);
      expect(own.map(([each]) => each)).toEqual(reports);
    }
  });
});

const onProgressOf = (seen: ToolProgress[]) => ({
  onProgress: (progress: ToolProgress) => void seen.push(progress),
});

test.each(["stateful", "stateless"] as const)(
  "onProgress works with a server that has no sessions: %s",
  async (session) => {
    const { url, requests } = await startModernServer();
    const notes = defineMcpClientConnection({ url, description: "A greeter.", session });
    const registry = startApplication({ notes }).provider.create({ principal: alice });
    const seen: ToolProgress[] = [];
    const result = await registry.call("notes", "greet", {}, onProgressOf(seen));
    expect(result).toMatchObject(answer("hello from greet"));
    expect(seen).toEqual([{ progress: 1 }]);
    expect(requests.at(-1)!.message.params.arguments).toEqual({});
  },
);

test("onProgress works over the old HTTP+SSE transport", async () => {
  const { url } = await startSseServer(405, (mcp) => registerReports(mcp, reports));
  const notes = defineMcpClientConnection({ url, description: "An old counter." });
  const registry = startApplication({ notes }).provider.create({ principal: alice });
  const seen: ToolProgress[] = [];
  await registry.call("notes", "count", {}, onProgressOf(seen));
  expect(seen).toEqual(reports);
  await registry.dispose();
});

test("a server is not asked for progress that nobody wants", async () => {
  const { registry, calls } = await startCounter({ onProgress: undefined });
  expect(await callTool(await registry.tools(), "notes__count")).toMatchObject(
    answer("nobody asked"),
  );
  expect(calls()).toEqual([{ name: "count", arguments: {} }]);
});

test("onProgress that fails fails no call", async () => {
  const { registry } = await startCounter({
    onProgress() {
      throw new Error("no bar");
    },
  });
  expect(await registry.call("notes", "count")).toMatchObject(answer(text));
});

test("many reports are thinned out, and nothing wrong or secret comes through", async () => {
  const many = [
    ...Array.from({ length: 200 }, (_, progress) => ({ progress })),
    { progress: "half" },
    { progress: 1_000, total: "all", message: `Bearer token-of-alice ${"x".repeat(5_000)}` },
  ];
  const headers = { authorization: "Bearer token-of-alice" };
  const { registry, seen } = await startCounter({ headers }, many);
  await registry.call("notes", "count");
  expect(seen.length).toBeLessThan(50);
  const [last] = seen.at(-1)!;
  expect(last).toEqual({ progress: 1_000, message: expect.any(String) });
  expect(last.message).toHaveLength(1_000);
  expect(JSON.stringify(seen)).not.toContain("token-of-alice");
});

test("a call that is sent again in a new session goes on to report", async () => {
  const { server, registry, seen } = await startCounter();
  const tools = await registry.tools();
  server.forgetSessions();
  const result = await callTool(tools, "notes__count");
  expect(result.content).toEqual([{ type: "text", text }]);
  expect(seen.map(([each]) => each)).toEqual(reports);
});

test("a process that stays in a pool reports to each run that uses it", async () => {
  const program = defineMcpStdioConnection({ ...describingProgram(), description: "A program." });
  const sessions = createDurableSessions({
    connections: { program },
    store: createMemoryStore(),
    pool: {},
  });
  for (const turn of [1, 2]) {
    const seen: ToolProgress[] = [];
    const observe = onProgressOf(seen);
    await sessions.run("chat", { principal: alice }, (run) =>
      run.call("program", "describe", {}, observe),
    );
    expect([turn, seen]).toEqual([turn, [{ progress: 1 }]]);
  }
  await sessions.shutdown();
});

test("tools in session.except of a stdio server report, too, and get their own arguments", async () => {
  const own = defineMcpStdioConnection({
    ...describingProgram(),
    description: "A program.",
    session: { except: ["describe"] },
  });
  const { provider, events } = startApplication<any>({ own });
  const registry = provider.create({});
  const seen: ToolProgress[] = [];
  const options = onProgressOf(seen);
  const { content } = (await registry.call("own", "describe", { a: 1 }, options)) as any;
  expect(JSON.parse(content[0].text)).toMatchObject({ input: { a: 1 } });
  expect(content[0].text).not.toContain("progressToken");
  expect(seen).toEqual([{ progress: 1 }]);
  expect(events.filter(({ type }) => type === "notification")).toEqual([]);
  await registry.dispose();
});

test("progress without a session, as PHP prints it", async () => {
  const results: Record<string, object> = {
    initialize: {
      ...{ protocolVersion: "2025-11-25", capabilities: { tools: {} } },
      serverInfo: { name: "php", version: "1" },
    },
    "tools/list": { tools: [{ name: "count", inputSchema: { type: "object" } }] },
    "tools/call": { content: [] },
  };
  const { origin } = await startHttpServer(({ method, message }, response) => {
    if (method !== "POST") return response.writeHead(405).end();
    if (message.id === undefined) return response.writeHead(202).end();
    const result = results[message.method];
    const error = { code: -32601, message: "Method not found" };
    response.writeHead(200, { "content-type": "text/event-stream" });
    const send = (said: object) =>
      response.write(
        `data: ${JSON.stringify({ jsonrpc: "2.0", ...said }).replaceAll("/", "\\/")}\n\n`,
      );
    const progressToken = message.params?.["_meta"]?.progressToken;
    if (progressToken !== undefined) {
      send({ method: "notifications/progress", params: { progressToken, progress: 1 } });
    }
    send({ id: message.id, ...(result ? { result } : { error }) });
    return response.end();
  });
  const php = defineMcpClientConnection({ url: `${origin}/mcp`, description: "A counter." });
  const registry = startApplication({ php }).provider.create({ principal: alice });
  const seen: ToolProgress[] = [];
  await registry.call("php", "count", {}, { onProgress: (progress) => void seen.push(progress) });
  await registry.dispose();
  expect(seen).toEqual([{ progress: 1 }]);
});
