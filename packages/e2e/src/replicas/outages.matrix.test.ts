import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import {
  Client as ClientV2,
  StreamableHTTPClientTransport as TransportV2,
} from "@modelcontextprotocol/client";
import { createMemoryStore, type SessionStore } from "@durable-mcp/core";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as TransportV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { expect, test } from "vitest";
import { createSessionHandler, type ServerSession } from "@durable-mcp/server";
import { toNodeHandler } from "@durable-mcp/server/node";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { z } from "zod";

interface Notes {
  notes: string[];
}

const text = (value: string) => ({ content: [{ type: "text" as const, text: value }] });

function createNotesServer(session: ServerSession<Notes>, onBegun: () => void): McpServer {
  const mcp = new McpServer({ name: "notes", version: "1.0.0" });
  const slowNote = { text: z.string(), ms: z.number() };
  mcp.registerTool("add_slowly", { inputSchema: slowNote }, async ({ text: note, ms }) => {
    onBegun();
    await sleep(ms);
    session.state.notes.push(note);
    return text("added");
  });
  mcp.registerTool("list", {}, () => text(session.state.notes.join(",")));
  mcp.registerTool("hang", {}, () => {
    onBegun();
    return new Promise(() => {});
  });
  return mcp;
}

/** A process that may die: then nothing of it reaches the store or a client any more. */
async function startProcess(shared: SessionStore, port = 0) {
  let isDead = false;
  const { promise: begun, resolve: begins } = Promise.withResolvers<void>();
  const never = new Promise<never>(() => {});
  const unlessDead = <T>(run: () => Promise<T>) => (isDead ? never : run());
  const store: SessionStore = {
    get: (key) => unlessDead(() => shared.get(key)),
    put: (...args) => unlessDead(() => shared.put(...args)),
    touch: (...args) => unlessDead(() => shared.touch(...args)),
    delete: (...args) => unlessDead(() => shared.delete(...args)),
    list: (query) => unlessDead(() => shared.list(query)),
    batch: (writes) => unlessDead(() => shared.batch!(writes)),
  };
  // All times as they are by default: this is about them.
  const handler = createSessionHandler<Notes>({
    store,
    principal: "none",
    initialState: () => ({ notes: [] }),
    createServer: ({ session }) => createNotesServer(session, begins),
  });
  const server: Server = createServer(toNodeHandler(handler));
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  const stopListening = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return {
    port: (server.address() as AddressInfo).port,
    /** A slow tool runs. */
    begun,
    /** Its clients are cut off, and its calls go on. */
    cutOff: stopListening,
    die: async () => {
      isDead = true;
      await stopListening();
    },
  };
}

const clients = {
  "@modelcontextprotocol/sdk 1": async (url: URL) => {
    const client = new ClientV1({ name: "v1", version: "1" });
    await client.connect(new TransportV1(url));
    return client;
  },
  "@modelcontextprotocol/client 2": async (url: URL) => {
    const client = new ClientV2({ name: "v2", version: "1" });
    await client.connect(new TransportV2(url));
    return client;
  },
};

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
/** The clients' own time-out, when they hang. */
const clientsTimeoutMs = 60_000;

/** Calls a tool, and has no replica for a time while it runs. */
async function callThroughOutage(
  connect: (typeof clients)[keyof typeof clients],
  outage: {
    readonly ms: number;
    readonly tool: { name: string; arguments: object };
    readonly ends: "die" | "cutOff";
  },
) {
  const store = createMemoryStore();
  const one = await startProcess(store);
  const client = await connect(new URL(`http://127.0.0.1:${one.port}/mcp`));
  const calledAt = performance.now();
  const call = client.callTool(outage.tool as never).then(
    (result) => (result as { content: { text: string }[] }).content[0]!.text,
    (error: Error & { data?: { code?: string } }) => error.data?.code ?? error.message,
  );
  await one.begun;
  // Its stream has reached the client.
  await sleep(300);
  await one[outage.ends]();
  await sleep(outage.ms);
  const two = await startProcess(store, one.port);
  const outcome = await call;
  const ms = performance.now() - calledAt;
  const next = await client.callTool({ name: "list", arguments: {} });
  await client.close();
  await two.die();
  return { outcome, ms, next: (next as { content: { text: string }[] }).content[0]!.text };
}

const meanwhile = { name: "add_slowly", arguments: { text: "a", ms: 1_000 } };
const lost = { name: "hang", arguments: {} };

// Both clients come back twice, `retryMs` after the break and after their first failure: that is 5 and 10 s.
test("clients whose replicas are all gone for some seconds hear of their calls long before their time-out", async () => {
  const outcomes = await Promise.all(
    Object.entries(clients).flatMap(([name, connect]) =>
      [3_000, 6_000].flatMap((ms) => [
        callThroughOutage(connect, { ms, tool: meanwhile, ends: "cutOff" }).then((outcome) => ({
          ...{ name, ms, expected: { outcome: "added", next: "a" } },
          ...{ ...outcome, tookMs: outcome.ms },
        })),
        callThroughOutage(connect, { ms, tool: lost, ends: "die" }).then((outcome) => ({
          ...{ name, ms, expected: { outcome: "OUTCOME_UNKNOWN", next: "" } },
          ...{ ...outcome, tookMs: outcome.ms },
        })),
      ]),
    ),
  );
  expect(outcomes).toHaveLength(8);
  for (const { expected, tookMs, ...outcome } of outcomes) {
    expect(outcome).toMatchObject(expected);
    expect(tookMs).toBeLessThan(clientsTimeoutMs / 3);
  }
});
