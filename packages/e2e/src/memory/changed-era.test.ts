import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import {
  createSessionFetch,
  createSessionSlot,
  parseSessionSnapshot,
  type SessionEvent,
} from "@durable-mcp/core";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler } from "@modelcontextprotocol/server";
import { describe, expect, onTestFinished, test } from "vitest";
import { type ClientName, loadClient } from "../clients/index.ts";
import { createSdkV1Notebook } from "../fixtures/sdk-v1-notebook.ts";
import { createSdkV2Notebook } from "../fixtures/sdk-v2-notebook.ts";
import { startRoundRobin } from "../wire/round-robin.ts";

type Handle = (request: IncomingMessage, response: ServerResponse) => unknown;

/** SDK v1 with sessions, as its examples route them. */
function sdkV1(): Handle {
  const transports = new Map<string, StreamableHTTPServerTransport>();
  return async (request, response) => {
    const id = String(request.headers["mcp-session-id"] ?? "");
    const known = transports.get(id);
    if (known) return await known.handleRequest(request, response);
    if (id !== "") return response.writeHead(404).end("Session not found");
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => crypto.randomUUID(),
      onsessioninitialized: (own) => void transports.set(own, transport),
    });
    await createSdkV1Notebook().connect(transport);
    return await transport.handleRequest(request, response);
  };
}

/** SDK v2 of 2026-07-28 alone. */
function sdkV2(): Handle {
  const { fetch } = createMcpHandler(createSdkV2Notebook, { legacy: "reject" });
  return toNodeHandler({ fetch }) as Handle;
}

/** A server at one URL, whose program can be another one from a request on. */
async function startServer(first: Handle) {
  let handle = first;
  const server = createServer((request, response) => void handle(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => server.close().closeAllConnections());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
  return { url, become: (next: Handle) => void (handle = next) };
}

const clients: ClientName[] = ["@ai-sdk/mcp 2", "@modelcontextprotocol/client 2 (auto)"];

/** A step with a new client, as another process makes it: one call. */
async function takeStep(client: ClientName, url: string, json?: string) {
  const slot = createSessionSlot(
    json === undefined ? undefined : parseSessionSnapshot(JSON.parse(json)),
  );
  const events: SessionEvent["type"][] = [];
  const fetch = createSessionFetch({ url, slot, onEvent: ({ type }) => void events.push(type) });
  const connect = await loadClient(client);
  const take = async () => {
    const own = await connect({ url, fetch });
    try {
      await own.listTools();
      return await own.callTool("echo", { text: "hello" });
    } finally {
      await own.close();
    }
  };
  const outcome = await take().catch((error: unknown) => String(error));
  const isTold = slot.takeLossNotice();
  return {
    outcome,
    events,
    isTold,
    kind: slot.snapshot?.kind,
    json: JSON.stringify(slot.snapshot),
  };
}

const answered = { text: expect.stringContaining("hello"), isError: false };

describe.each(clients)("%s", (client) => {
  test("loses its session to a server of 2026-07-28, is told, and goes on in the next step", async () => {
    const server = await startServer(sdkV1());
    const first = await takeStep(client, server.url);
    expect(first).toMatchObject({ outcome: answered, kind: "session" });
    server.become(sdkV2());
    const second = await takeStep(client, server.url, first.json);
    expect(second.outcome).toMatch(/other revisions than the server.*not carried out/);
    expect(second).toMatchObject({ kind: "stateless", events: ["resumed", "lost", "stateless"] });
    const third = await takeStep(client, server.url, second.json);
    expect(third).toMatchObject({ outcome: answered, kind: "stateless" });
    server.become(sdkV1());
    const fourth = await takeStep(client, server.url, third.json);
    expect(fourth).toMatchObject({ outcome: answered, kind: "session", events: ["started"] });
    const fifth = await takeStep(client, server.url, fourth.json);
    expect(fifth).toMatchObject({ outcome: answered, events: ["resumed"] });
  });

  test("keeps its session behind a balancer over replicas of both eras", async () => {
    const old = await startServer(sdkV1());
    const modern = await startServer(sdkV2());
    const balancer = await startRoundRobin([new URL(old.url), new URL(modern.url)]);
    onTestFinished(balancer.close);
    balancer.setServing(modern.url, false);
    const first = await takeStep(client, balancer.url);
    const { sessionId } = JSON.parse(first.json) as { sessionId: string };
    balancer.setServing(modern.url, true);
    let { json } = first;
    for (let step = 0; step < 5; step += 1) {
      const next = await takeStep(client, balancer.url, json);
      expect(next).toMatchObject({ outcome: answered, events: ["resumed"], isTold: false });
      expect(JSON.parse(next.json)).toMatchObject({ kind: "session", sessionId });
      ({ json } = next);
    }
    expect(balancer.sessionErrors).toBeGreaterThan(0);
  });
});
