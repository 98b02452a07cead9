import { setTimeout } from "node:timers/promises";
import { createDurableSessions, defineMcpClientConnection } from "@durable-mcp/ai-sdk";
import { createMemoryStore } from "@durable-mcp/core";
import { checkWaitingCalls, waitingCallOf } from "@durable-mcp/core/waiting";
import {
  Client as Client2,
  StreamableHTTPClientTransport as Http2,
} from "@modelcontextprotocol/client";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { describe, expect, test, vi } from "vitest";
import { type SlowKind, slowKinds, startSlowServer } from "../../../sessions/test/slow-server.ts";
import { type ClientName, loadClient } from "../clients/index.ts";
import { clientInfo } from "../clients/official-client.ts";
import { openProcess, untilDue } from "./lasting-process.ts";

// Clients of other makers, as they come, above a session fetch whose calls go on without them.

const about = { topic: "tea" };
const call = { name: "research", arguments: about };

const ofSessions = ["task of 2025-11-25", "stream"] as const;
const anyone: readonly [SlowKind, ClientName][] = [
  ["task of 2025-11-25", "@modelcontextprotocol/sdk 1"],
  ["task of 2025-11-25", "@ai-sdk/mcp 2"],
  ["task of 2026-07-28", "@modelcontextprotocol/client 2 (auto)"],
  ["task of 2026-07-28", "@ai-sdk/mcp 2"],
  ["stream", "@modelcontextprotocol/sdk 1"],
  ["stream", "@modelcontextprotocol/client 2"],
];

test.each(anyone)("a %s of %s goes on, and another process gets its result", async (kind, name) => {
  const slow = await startSlowServer(kind);
  const store = createMemoryStore();
  const connect = await loadClient(name);
  const client = await connect({ url: slow.url, fetch: openProcess(slow.url, { store }).fetch });
  await client.listTools();
  const { raw } = await client.callTool("research", about);
  const type = kind === "stream" ? "stream" : "task";
  expect(waitingCallOf(raw)).toMatchObject({ type, state: "waiting" });
  await client.close();

  slow.finish();
  const { waiting } = openProcess(slow.url, { store });
  const id = await untilDue(waiting);
  expect(await checkWaitingCalls(waiting)).toMatchObject([{ id, state: "settled" }]);
  const { result } = (await waiting.find(id))!;
  expect(result).toMatchObject({ content: [{ type: "text", text: "All about tea." }] });
  expect(slow.works).toHaveLength(1);
});

test.each(slowKinds)(
  "a %s of @ai-sdk/mcp on run.fetch waits as those of the tools do",
  async (kind) => {
    const slow = await startSlowServer(kind);
    const session = kind === "task of 2026-07-28" ? "stateless" : "stateful";
    const use = { principal: { type: "app" } } as const;
    const sessions = createDurableSessions({
      connections: {
        lab: defineMcpClientConnection({
          ...{ url: slow.url, description: "A lab.", session, waiting: { afterMs: 200 } },
        }),
      },
      store: createMemoryStore(),
    });
    const connect = await loadClient("@ai-sdk/mcp 2");
    const raw = await sessions.run("chat", use, async (run) => {
      const client = await connect({ url: slow.url, fetch: run.fetch("lab") });
      const called = await client.callTool("research", about);
      await client.close();
      return called.raw;
    });
    const { id, pollAfter = 0 } = waitingCallOf(raw)!;
    expect(await sessions.waiting("chat", use)).toMatchObject([{ id, state: "waiting" }]);
    slow.finish();
    await setTimeout(Math.max(0, pollAfter - Date.now() + 20));
    expect(await sessions.check("chat", use)).toMatchObject([{ id, state: "settled" }]);
    const found = await sessions.run("chat", use, (run) => run.waiting.find(id));
    expect(found).toMatchObject({ result: { content: [{ text: "All about tea." }] } });
    expect(slow.works).toHaveLength(1);
  },
);

/** The official clients, which can be told to give up. */
const impatient = [
  [
    "SDK v1",
    async (url: string, fetch: typeof globalThis.fetch) => {
      const client = new Client(clientInfo);
      const transport = new StreamableHTTPClientTransport(new URL(url), { fetch });
      await client.connect(transport);
      return {
        listTools: () => client.listTools(),
        callTool: (options: object) => client.callTool(call, undefined, options),
        async close() {
          await transport.terminateSession();
          await client.close();
        },
      };
    },
  ],
  [
    "client v2",
    async (url: string, fetch: typeof globalThis.fetch) => {
      const client = new Client2(clientInfo);
      const transport = new Http2(new URL(url), { fetch });
      await client.connect(transport);
      return {
        listTools: () => client.listTools(),
        callTool: (options: object) => client.callTool(call, options),
        async close() {
          await transport.terminateSession();
          await client.close();
        },
      };
    },
  ],
] as const;

test("SDK v1 may call a tool that only runs as a task", async () => {
  const slow = await startSlowServer("task of 2025-11-25");
  const { fetch } = openProcess(slow.url, { afterMs: 10_000 });
  const client = await impatient[0][1](slow.url, fetch);
  const { tools } = await client.listTools();
  expect(tools).toContainEqual(
    expect.objectContaining({ name: "research", execution: { taskSupport: "optional" } }),
  );
  void slow.begun().then(slow.finish);
  expect(await client.callTool({})).toMatchObject({ content: [{ text: "All about tea." }] });
});

describe.each(impatient)("%s", (_, connect) => {
  describe.each(ofSessions)("leaves a %s", (kind) => {
    const giveUps: [string, () => object][] = [
      ["that takes too long for it", () => ({ timeout: 600 })],
      ["that is aborted", () => ({ signal: AbortSignal.timeout(600) })],
    ];
    test.each(giveUps)("%s, which goes on", async (_title, options) => {
      const slow = await startSlowServer(kind);
      const { fetch, waiting } = openProcess(slow.url, { afterMs: 60_000 });
      const client = await connect(slow.url, fetch);
      await client.listTools();
      await expect(client.callTool(options())).rejects.toThrow(/abort|timed out/i);
      // What the client says of it is on its way.
      await setTimeout(300);
      await client.close();
      const type = kind === "stream" ? "stream" : "task";
      await vi.waitFor(async () => expect(await waiting.list()).toMatchObject([{ type }]));
      expect(slow.log).not.toContain("POST notifications/cancelled");
      expect(slow.log).not.toContain("POST tasks/cancel");
      expect(slow.log).not.toContain("DELETE");
      slow.finish();
      const id = await untilDue(waiting);
      expect(await checkWaitingCalls(waiting)).toMatchObject([{ id, state: "settled" }]);
      expect(slow.works).toMatchObject([{ state: "done" }]);
    });
  });
});
