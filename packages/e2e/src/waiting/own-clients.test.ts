import { randomUUID } from "node:crypto";
import {
  createMemoryStore,
  createSessionFetch,
  createSessionSlot,
  parseSessionSnapshot,
  type SessionSlot,
  type SessionStore,
} from "@durable-mcp/core";
import { answerWaitingCall, createWaitingCalls, waitingCallOf } from "@durable-mcp/core/waiting";
import {
  createMcpHandler,
  isLegacyRequest,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import { describe, expect, test } from "vitest";
import { loadClient } from "../clients/index.ts";
import { createAskingServer } from "../fixtures/asking-tools.ts";
import { createSdkV2Notebook } from "../fixtures/sdk-v2-notebook.ts";

// Clients of other makers, as they come, above a session fetch with `waiting`.

const url = "https://shop.example/mcp";
const owner = { sessionId: "chat", principal: { type: "app" }, connection: "shop", url } as const;

/** A server in this process. */
function startServer(eras: "new" | "old" | "both") {
  const orders: unknown[] = [];
  const create = () =>
    createAskingServer({
      write: (entry) => void (entry.kind === "order" && orders.push(entry)),
      origin: () => "https://shop.example",
      isVisited: () => false,
      stateKey: "a key of more than 32 bytes for the states",
      stateSeconds: 600,
    });
  const modern = createMcpHandler(create, { legacy: "reject" });
  const transports = new Map<string, WebStandardStreamableHTTPServerTransport>();
  const legacy = async (request: Request) => {
    const known = transports.get(request.headers.get("mcp-session-id") ?? "");
    if (known !== undefined) return await known.handleRequest(request);
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => void transports.set(id, transport),
    });
    await (eras === "old" ? createSdkV2Notebook() : create()).connect(transport);
    return await transport.handleRequest(request);
  };
  const methods: string[] = [];
  const fetch: typeof globalThis.fetch = async (input, init) => {
    const request = new Request(input, init);
    const body = await request.clone().text();
    if (body !== "") methods.push((JSON.parse(body) as { method: string }).method);
    const isOld = eras === "old" || (eras === "both" && (await isLegacyRequest(request.clone())));
    return await (isOld ? legacy(request) : modern.fetch(request));
  };
  return { fetch, orders, methods };
}

/** A process: its client, and its waiting calls. */
async function startProcess(
  name: Parameters<typeof loadClient>[0],
  { fetch }: ReturnType<typeof startServer>,
  store: SessionStore,
  slot: SessionSlot = createSessionSlot(),
) {
  const waiting = createWaitingCalls({ store, ...owner });
  const connect = await loadClient(name);
  const own = createSessionFetch({ url, slot, waiting, fetch });
  return { waiting, slot, client: await connect({ url, fetch: own }) };
}

const confirm = { confirm: { action: "accept", content: { ok: true } } } as const;

describe.each(["@ai-sdk/mcp 2", "@modelcontextprotocol/client 2 (auto)"] as const)("%s", (name) => {
  test("gets a result that it can parse, and another process answers, in two rounds", async () => {
    const server = startServer("new");
    const store = createMemoryStore();
    const first = await startProcess(name, server, store);
    const { raw, isError } = await first.client.callTool("place_order_typed", { item: "tea" });
    expect(isError).toBe(true);
    const call = waitingCallOf(raw)!;
    expect(await first.waiting.list()).toEqual([call]);
    await first.client.close();

    const waiting = createWaitingCalls({ store, ...owner });
    const use = { fetch: server.fetch };
    const second = await answerWaitingCall(waiting, call.id, confirm, use);
    expect(second.call).toMatchObject({ state: "waiting", round: 2 });
    expect(server.orders).toEqual([]);
    const time = { delivery: { action: "accept", content: { time: "12:00" } } } as const;
    const third = await answerWaitingCall(waiting, call.id, time, use);
    expect(third.call.state).toBe("settled");
    expect(third.result).toMatchObject({ structuredContent: { item: "tea", ordered: true } });
    expect(server.orders).toHaveLength(1);
  });

  test("of a server of both eras the one without sessions is used", async () => {
    const server = startServer("both");
    const { client, slot } = await startProcess(name, server, createMemoryStore());
    const { raw } = await client.callTool("place_order_typed", { item: "tea" });
    expect(waitingCallOf(raw)).toMatchObject({ state: "waiting" });
    expect(server.methods).not.toContain("initialize");
    expect(slot.snapshot).toBeUndefined();
  });

  test("the session of an old server is kept as always", async () => {
    const server = startServer("old");
    const store = createMemoryStore();
    const first = await startProcess(name, server, store);
    await first.client.listTools();
    await first.client.close();
    expect(first.slot.snapshot).toMatchObject({ kind: "session" });
    const saved = parseSessionSnapshot(JSON.parse(JSON.stringify(first.slot.snapshot)));
    server.methods.length = 0;
    const next = await startProcess(name, server, store, createSessionSlot(saved));
    await next.client.callTool("add_note", { text: "tea" });
    expect(server.methods).not.toContain("initialize");
    expect(server.methods).toContain("tools/call");
    expect(await next.waiting.list()).toEqual([]);
  });
});
