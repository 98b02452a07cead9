import { inspect } from "node:util";
import { createMemoryStore } from "@durable-mcp/core";
import { beforeEach, describe, expect, test } from "vitest";
import { collectMetrics, type Measured } from "../../../sessions/test/collect-metrics.ts";
import { sendJson, sendText } from "../../../core/test/http-server.ts";
import {
  type NotebookServer,
  on,
  startNotebookServer,
} from "../../../sessions/test/notebook-server.ts";
import { describingProgram } from "../../../sessions/test/describing-program.ts";
import { callTool, startApplication } from "../step.ts";
import {
  createDurableSessions,
  currentConnections,
  defineMcpClientConnection,
  type McpClientConnectionOptions,
  withConnections,
} from "../../src/index.ts";
import { defineMcpStdioConnection } from "../../src/stdio.ts";
import { openTelemetry } from "../../../sessions/src/opentelemetry/index.ts";

const { take, values } = collectMetrics();
beforeEach(async () => void (await take()));

const principal = { type: "user", issuer: "https://canary-issuer", id: "canary-user" } as const;
const of = "durable_mcp.connection";

function measured(server: NotebookServer, options: Partial<McpClientConnectionOptions> = {}) {
  const notes = defineMcpClientConnection({
    url: `${server.url}?key=canary-key`,
    description: "A notebook.",
    session: "stateful",
    auth: { getToken: async () => ({ token: "canary-token" }) },
    ...options,
  });
  return startApplication({ notes }, { telemetry: openTelemetry() });
}

/** The values that have an attribute, by that attribute's value. */
const by = (attribute: string, all: readonly Measured[] = []) =>
  Object.fromEntries(all.map(({ value, attributes }) => [attributes[attribute], value]));

test("handshakes, listings and calls have the duration that the conventions name", async () => {
  const server = await startNotebookServer();
  await measured(server).step({}, async (registry) => {
    const tools = await registry.tools();
    for (const text of ["a", "b"]) await callTool(tools, "notes__add_note", { text });
    await callTool(tools, "notes__fail");
  });
  const found = await take();
  const duration = found.find(
    ({ descriptor }) => descriptor.name === "mcp.client.operation.duration",
  );
  expect(duration?.descriptor).toMatchObject({ type: "HISTOGRAM", unit: "s" });
  const points = duration!.dataPoints.map(({ value, attributes }) => {
    const { sum, count } = value as { sum: number; count: number };
    expect(sum).toBeGreaterThan(0);
    expect(sum).toBeLessThan(10);
    const { [of]: connection, "network.transport": transport, ...others } = attributes;
    expect({ connection, transport }).toEqual({ connection: "notes", transport: "tcp" });
    expect(others["mcp.protocol.version"]).toBe("2025-11-25");
    return [others["mcp.method.name"], others["gen_ai.tool.name"], others["error.type"], count];
  });
  expect(points.toSorted((a, b) => (String(a) < String(b) ? -1 : 1))).toEqual([
    ["initialize", undefined, undefined, 1],
    ["tools/call", "add_note", undefined, 2],
    ["tools/call", "fail", "tool_error", 1],
    ["tools/list", undefined, undefined, 1],
  ]);
});

describe("a failure", () => {
  test.each<[string, (server: NotebookServer) => void, string]>([
    [
      "of HTTP has our code",
      (server) => server.intercept(on("tools/call", (_, answer) => sendText(answer, 503, "Busy"))),
      "CONNECTION_UNAVAILABLE",
    ],
    ["by a reserved code has it", (server) => answerWith(server, -32_603), "-32603"],
    ["by a code of the server's own has none", (server) => answerWith(server, 4_711), "_OTHER"],
  ])("%s", async (_, prepare, type) => {
    const server = await startNotebookServer();
    await measured(server).step({}, async (registry) => {
      const tools = await registry.tools();
      prepare(server);
      await expect(callTool(tools, "notes__list_notes")).rejects.toThrow(/./);
    });
    const { "mcp.client.operation.duration": calls } = await values();
    expect(by("error.type", calls)).toMatchObject({ [type]: 1 });
  });
});

function answerWith(server: NotebookServer, code: number): void {
  server.intercept(
    on("tools/call", ({ message: { id } }, response) =>
      sendJson(response, 200, { jsonrpc: "2.0", id, error: { code, message: "Oops" } }),
    ),
  );
}

test("sessions, losses and recoveries are counted, and how long a recovery took", async () => {
  const server = await startNotebookServer();
  const application = measured(server);
  const session = await application.step({}, (registry) => registry.tools());
  server.forgetSessions();
  await application.step(session, async (registry) => {
    const calls = [1, 2, 3].map(() => registry.call("notes", "list_notes"));
    await Promise.all(calls);
  });
  const found = await values();
  const sessions = by("durable_mcp.session", found["durable_mcp.sessions"]);
  expect(sessions).toEqual({ started: 1, resumed: 1, lost: 1, recovered: 1 });
  expect(found["durable_mcp.recovery.duration"]).toEqual([
    { value: 1, attributes: { [of]: "notes", "network.transport": "tcp" } },
  ]);
});

const call = () => currentConnections().call("program", "describe");

test("runs are counted by whether they found a client, with the clients that are open", async () => {
  const program = defineMcpStdioConnection({ ...describingProgram(), description: "A program." });
  const telemetry = openTelemetry();
  const { provider } = startApplication<any>({ program }, { telemetry, pool: {} });
  const sessions = createDurableSessions({ provider, store: createMemoryStore() });
  const run = () =>
    sessions.run("chat", { principal }, async (own) => {
      await own.tools();
      await withConnections({}, call);
    });
  await run();
  const first = await values();
  expect(by("durable_mcp.client", first["durable_mcp.client.lookups"])).toEqual({
    miss: 1,
    hit: 1,
  });
  expect(by(of, first["durable_mcp.client.open"])).toEqual({ program: 1 });
  await run();
  const second = await values();
  expect(by("durable_mcp.client", second["durable_mcp.client.lookups"])).toEqual({ hit: 2 });
  await provider.shutdown();
  // The exporter takes differences.
  expect(by(of, (await values())["durable_mcp.client.open"])).toEqual({ program: -1 });
});

test("a client is counted until it is closed, whatever ended it", async () => {
  const server = await startNotebookServer();
  const lost = Promise.withResolvers<void>();
  const { provider } = startApplication<any>(
    {
      notes: defineMcpClientConnection({ url: server.url, description: "A notebook." }),
      program: defineMcpStdioConnection({
        ...describingProgram("exit"),
        description: "A program.",
      }),
    },
    {
      telemetry: openTelemetry(),
      pool: {},
      onEvent: ({ type }) => void (type === "lost" && lost.resolve()),
    },
  );
  const sessions = createDurableSessions({ provider, store: createMemoryStore() });
  await sessions.run("chat", { principal }, async (run) => {
    await run.call("program", "describe");
    await lost.promise;
  });
  // A fetch for another client is no client.
  const registry = provider.create({ principal, sessionId: "other" });
  registry.fetch("notes");
  await registry.dispose();
  await provider.shutdown();
  const open = Object.entries(by(of, (await values())["durable_mcp.client.open"]));
  expect(open.filter(([, count]) => count !== 0)).toEqual([]);
});

test("waits for the store, and until a server is ready, have a duration", async () => {
  const { provider } = measured(await startNotebookServer());
  const store = createMemoryStore();
  const failing = { ...store, put: () => Promise.reject(new Error("canary")) };
  const sessions = createDurableSessions({ provider, store });
  await sessions.run("chat", { principal }, (run) => run.ready("notes"));
  const found = await values();
  expect(found["durable_mcp.ready.duration"]).toMatchObject([{ value: 1 }]);
  const uses = by("durable_mcp.store.operation", found["durable_mcp.store.operation.duration"]);
  expect(uses).toMatchObject({ get: 1, put: expect.any(Number) });

  const broken = createDurableSessions({ provider, store: failing });
  await expect(broken.run("other", { principal }, (run) => run.tools())).rejects.toMatchObject({
    code: "STORE_FAILED",
  });
  const { "durable_mcp.store.operation.duration": failed } = await values();
  expect(by("error.type", failed)).toMatchObject({ STORE_FAILED: expect.any(Number) });
  await provider.shutdown();
});

test("no metric holds an id, a token, a principal, an argument, or a session's name", async () => {
  const server = await startNotebookServer();
  const { provider } = measured(server);
  const sessions = createDurableSessions({ provider, store: createMemoryStore() });
  await sessions.run("canary-chat", { principal }, async (run) => {
    await run.call("notes", "add_note", { text: "canary-note" });
    await run.named.create("canary-name");
    server.forgetSessions();
    await run.named.run("canary-name", (own) => own.call("notes", "list_notes"));
  });
  await provider.shutdown();
  const found = await take();
  expect(found.length).toBeGreaterThan(4);
  const printed = inspect(found, { depth: Infinity });
  expect(printed).not.toMatch(/canary/);
  for (const id of server.sessionIds) expect(printed).not.toContain(id);
});

test("a meter of one's own is used", async () => {
  const { metrics } = await import("@opentelemetry/api");
  const names: string[] = [];
  const global = metrics.getMeter("own");
  const meter = Object.assign(Object.create(global), {
    createHistogram(name: string) {
      names.push(name);
      return global.createHistogram(name);
    },
  });
  const server = await startNotebookServer();
  const notes = defineMcpClientConnection({ url: server.url, description: "A notebook." });
  const application = startApplication({ notes }, { telemetry: openTelemetry({ meter }) });
  await application.step({}, (registry) => registry.tools());
  expect(names).toContain("mcp.client.operation.duration");
});
