/** Servers that do not keep what they promise, or promise nothing. */

import { mkdtempSync, rmSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import {
  type ConnectionEvent,
  createDurableSessions,
  defineMcpClientConnection,
  type McpClientConnectionOptions,
} from "@durable-mcp/ai-sdk";
import { createMemoryStore, createSessionFetch, createSessionSlot } from "@durable-mcp/core";
import { checkWaitingCalls, waitingCallOf } from "@durable-mcp/core/waiting";
import { createFaultyStore } from "@durable-mcp/testing";
import { describe, expect, onTestFinished, test } from "vitest";
import { startSlowServer } from "../../../sessions/test/slow-server.ts";
import { sendJson, startHttpServer } from "../../../core/test/http-server.ts";
import { type ClientName, loadClient } from "../clients/index.ts";
import { programArguments } from "../processes/programs.ts";
import { startFixtureServer } from "../servers/fixture-server.ts";
import { startNotebookServer } from "../servers/notebook.ts";
import { startSdkV2ModernOnlyServer } from "../servers/sdk-v2.ts";
import { startServerProcess, type TestServer } from "../servers/server-process.ts";
import { openProcess, untilDue } from "./lasting-process.ts";

const event = (message: object, id?: string) =>
  `${id === undefined ? "" : `id: ${id}\n`}data: ${JSON.stringify({ jsonrpc: "2.0", ...message })}\n\n`;
const text = (value: string) => ({ content: [{ type: "text", text: value }] });

/** What a GET gets. @param requestId of the call */
type Resumed = (response: ServerResponse, requestId: unknown) => void;

const openStream = (response: ServerResponse) =>
  response.writeHead(200, { "content-type": "text/event-stream" });
const answers: Resumed = (response, id) =>
  openStream(response).end(event({ id, result: text("done") }, "2"));

/** A server whose call begins a stream with the event id `0`, and never ends by itself. */
async function startIdServer(...resumed: [Resumed, ...Resumed[]]) {
  let requestId: unknown;
  let gets = 0;
  const server = await startHttpServer(({ method, message }, response) => {
    const { id, params } = message ?? {};
    const answer = (result: object, headers = {}) =>
      sendJson(response, 200, { jsonrpc: "2.0", id, result }, headers);
    if (method === "GET") {
      const act = resumed[Math.min(gets, resumed.length - 1)]!;
      gets += 1;
      return act(response, requestId);
    }
    if (message?.method === "initialize") {
      const { protocolVersion } = params;
      const serverInfo = { name: "ids", version: "1.0.0" };
      const result = { protocolVersion, capabilities: { tools: {} }, serverInfo };
      return answer(result, { "mcp-session-id": "a-session" });
    }
    if (message?.method === "tools/list")
      return answer({ tools: [{ name: "wait", inputSchema: { type: "object" } }] });
    if (message?.method !== "tools/call") return response.writeHead(202).end();
    requestId = id;
    return openStream(response).write("id: 0\nretry: 100\ndata: \n\n");
  });
  const calls = () => server.log.filter((line) => line === "POST tools/call").length;
  return { ...server, url: `${server.origin}/mcp`, calls };
}

/** Has a client make the call, and end. @returns another process, whose clock can be moved */
async function leave(url: string, maxAgeMs = 60_000) {
  const store = createMemoryStore();
  let laterMs = 0;
  const open = () => openProcess(url, { store, maxAgeMs, now: () => Date.now() + laterMs });
  const connect = await loadClient("@modelcontextprotocol/sdk 1");
  const client = await connect({ url, fetch: open().fetch });
  const { raw } = await client.callTool("wait", {});
  await client.close();
  const { waiting } = open();
  const id = waitingCallOf(raw)!.id;
  return {
    id,
    waiting,
    /** What a look sees when it is due. */
    look: async () => {
      const call = (await waiting.list())[0]!;
      laterMs += Math.max(0, call.pollAfter! - Date.now() - laterMs);
      return await checkWaitingCalls(waiting);
    },
    pass: (ms: number) => void (laterMs += ms),
  };
}

const silences: [string, Resumed][] = [
  ["has nothing and ends", (response) => openStream(response).end()],
  ["is silent", (response) => openStream(response).flushHeaders()],
  [
    "has what belongs to another call",
    (response) => openStream(response).end(event({ id: "another", result: text("no") }, "1")),
  ],
  [
    "has the answer of a client that counts its own requests",
    (response) => openStream(response).end(event({ id: 1, result: text("no") }, "1")),
  ],
  ["is refused with 409, for another has it", (response) => sendJson(response, 409, {})],
];

describe.each(silences)("a resumed stream that %s", (_, silence) => {
  test("is no result, is resumed again, and may have it later", async () => {
    const server = await startIdServer(silence, answers);
    const { id, look, waiting } = await leave(server.url);
    expect(await look()).toMatchObject([{ id, type: "stream", state: "waiting" }]);
    expect(await look()).toMatchObject([{ id, state: "settled" }]);
    expect((await waiting.find(id))!.result).toEqual(text("done"));
    expect(server.calls()).toBe(1);
  });

  test("ends with the age that calls may have, as perhaps carried out", async () => {
    const server = await startIdServer(silence);
    const { id, look, pass, waiting } = await leave(server.url);
    await look();
    pass(60_000);
    expect(await look()).toMatchObject([{ id, state: "outcome-unknown" }]);
    expect(await waiting.find(id)).not.toHaveProperty("result");
    expect(server.calls()).toBe(1);
  });
});

test.each([
  [404, "lost"],
  [400, "lost"],
  [500, "later"],
  [503, "later"],
  [429, "later"],
])("a resumed stream that is refused with %i is %s", async (status, meaning) => {
  const error = { code: -32_000, message: "No" };
  const server = await startIdServer((response) =>
    sendJson(response, status, { jsonrpc: "2.0", id: null, error }),
  );
  const { look } = await leave(server.url);
  const state = meaning === "lost" ? "outcome-unknown" : "waiting";
  expect(await look()).toMatchObject([{ state }]);
  expect(server.calls()).toBe(1);
});

describe("a task that its server keeps for a second", () => {
  test.each([
    [
      "SDK v1",
      "@modelcontextprotocol/sdk 1",
      () => startSlowServer("task of 2025-11-25", { ttlMs: 1_000 }),
      { topic: "tea" },
    ],
    [
      "SDK v2",
      "@ai-sdk/mcp 2",
      () => startFixtureServer("SDK v2, tasks", "sdk-v2-tasks-server.ts"),
      { topic: "tea", delayMs: 600_000, ttlMs: 1_000 },
    ],
  ] as const)("is over then, perhaps carried out (%s)", async (_, name, start, about) => {
    const server = await start();
    if ("stop" in server) onTestFinished(server.stop);
    const store = createMemoryStore();
    const connect = await loadClient(name);
    const client = await connect({
      url: server.url,
      fetch: openProcess(server.url, { store }).fetch,
    });
    await client.listTools();
    const { raw } = await client.callTool("research", about);
    expect(waitingCallOf(raw)).toMatchObject({ type: "task" });
    const { waiting } = openProcess(server.url, { store });
    await setTimeout(1_200);
    const id = await untilDue(waiting);
    expect(await checkWaitingCalls(waiting)).toMatchObject([{ id, state: "outcome-unknown" }]);
    await client.close();
  });
});

test("an answer that came before @durable-mcp/server was restarted is read after that", async () => {
  const folder = mkdtempSync(join(tmpdir(), "durable-mcp-restarted-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  const program = new URL("../../../examples/src/servers/notes-server.ts", import.meta.url);
  const server = await startServerProcess({
    name: "@durable-mcp/server",
    args: (port) => [...programArguments(program), String(port), join(folder, "sessions.db")],
  });
  onTestFinished(server.stop);
  const { url } = server;
  const store = createMemoryStore();
  const connect = await loadClient("@modelcontextprotocol/sdk 1");
  const client = await connect({ url, fetch: openProcess(url, { store }).fetch });
  const { raw } = await client.callTool("add_note", { text: "tea", delayMs: 1_000 });
  const { id } = waitingCallOf(raw)!;
  await client.close();
  await setTimeout(1_500);
  await server.restart();
  const { waiting } = openProcess(url, { store });
  await untilDue(waiting);
  expect(await checkWaitingCalls(waiting)).toMatchObject([{ id, state: "settled" }]);
  expect((await waiting.find(id))!.result).toMatchObject(text("1 notes"));
});

const isHandshake = /"(?:initialize|server\/discover)\\"/;

/** All of what a client sends, without what is drawn by lot. */
function recordRequests(isLeftOut = /^$/) {
  const requests: object[] = [];
  const fetch: typeof globalThis.fetch = async (input, init) => {
    const request = new Request(input, init);
    const body = await request.clone().text();
    const headers = Object.fromEntries(request.headers);
    const sent = JSON.stringify({ method: request.method, headers, body });
    if (!isLeftOut.test(sent))
      requests.push(JSON.parse(sent.replaceAll(/[0-9a-f]{24}\.\d+|[0-9a-f-]{36}/g, "*")) as object);
    return await globalThis.fetch(request);
  };
  return { requests, fetch };
}

const plain: [string, ClientName, "no-event-id" | "no-task", () => Promise<TestServer>][] = [
  ["SDK v1, events", "@modelcontextprotocol/sdk 1", "no-event-id", () => startNotebookServer()],
  ["SDK v1, JSON", "@ai-sdk/mcp 2", "no-event-id", () => startNotebookServer({ json: true })],
  ["SDK v2", "@ai-sdk/mcp 2", "no-task", () => startSdkV2ModernOnlyServer()],
  ["SDK v2", "@modelcontextprotocol/client 2 (auto)", "no-task", startSdkV2ModernOnlyServer],
];

test.each(plain)(
  "a server without tasks and event ids gets what it has always got, and nothing is written (%s, %s)",
  async (_title, name, reason, start) => {
    const server = await start();
    onTestFinished(server.stop);
    const { url } = server;
    const connect = await loadClient(name);
    const visit = async (create: (own: typeof globalThis.fetch) => typeof globalThis.fetch) => {
      // Clients that wait may probe, and choose the revision without sessions.
      const { requests, fetch } = recordRequests(isHandshake);
      const client = await connect({ url, fetch: create(fetch) });
      await client.listTools();
      const results = [
        await client.callTool("echo", { text: "tea" }),
        await client.callTool("slow_echo", { text: "cake", delayMs: 600 }),
      ].map(({ text: own }) => own);
      await client.close();
      expect(results).toEqual(["tea", "cake"]);
      return requests;
    };
    const bare = await visit((fetch) =>
      createSessionFetch({ url, fetch, slot: createSessionSlot() }),
    );
    const faulty = createFaultyStore(createMemoryStore());
    const events: unknown[] = [];
    const lasting = await visit((fetch) => {
      const opened = openProcess(url, {
        ...{ fetch, store: faulty.store, for: ["task", "stream"] },
      });
      events.push(opened.events);
      return opened.fetch;
    });
    expect(lasting).toEqual(bare);
    expect(lasting.length).toBeGreaterThanOrEqual(3);
    expect(faulty.log).toEqual([]);
    expect(events).toEqual([[{ type: "cannot-wait", tool: "slow_echo", reason }]]);
  },
);

test.each([
  ["SDK v1, events", "stateful", "no-event-id", () => startNotebookServer()],
  ["SDK v1, JSON", "stateful", "no-event-id", () => startNotebookServer({ json: true })],
  ["SDK v2", "stateless", "no-task", () => startSdkV2ModernOnlyServer()],
] as const)(
  "the same from a connection, in all that it sends and writes (%s)",
  async (_title, session, reason, start) => {
    const { url, stop } = await start();
    onTestFinished(stop);
    const use = async (own: Partial<McpClientConnectionOptions>) => {
      const { requests, fetch } = recordRequests();
      const { store, log } = createFaultyStore(createMemoryStore());
      const events: ConnectionEvent[] = [];
      const sessions = createDurableSessions({
        connections: {
          lab: defineMcpClientConnection({ url, description: "A lab.", session, fetch, ...own }),
        },
        ...{ store, onEvent: { every: (one) => void events.push(one) } },
      });
      const results = await sessions.run("chat", { principal: { type: "app" } }, async (run) => [
        await run.call("lab", "echo", { text: "tea" }),
        await run.call("lab", "slow_echo", { text: "cake", delayMs: 600 }),
      ]);
      expect(results).toMatchObject([text("tea"), text("cake")]);
      return { requests, log, events: events.filter(({ type }) => type === "cannot-wait") };
    };
    const { events, ...lasting } = await use({
      waiting: { for: ["task", "stream"], afterMs: 200 },
    });
    expect({ ...lasting, events: [] }).toEqual(await use({}));
    expect(events).toMatchObject([{ tool: "slow_echo", reason }]);
  },
);
