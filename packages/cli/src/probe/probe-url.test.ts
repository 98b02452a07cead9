import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { describe, expect, test } from "vitest";
import { startLoopbackServer } from "../../../oauth/test/loopback-server.ts";
import { toNodeHandler } from "../../../server/src/node.ts";
import { startSessionServer } from "../../test/session-server.ts";
import { probeUrl, type UrlProbe } from "./probe-url.ts";
import { judgeServer } from "./verdict.ts";

function probe(url: URL, more: Partial<UrlProbe> = {}) {
  return probeUrl({
    url,
    headers: {},
    limits: { requestMs: 2_000, watchMs: 100 },
    signal: new AbortController().signal,
    onStart: () => undefined,
    ...more,
  });
}

const call = { name: "wait", args: {}, timeoutMs: 600 };

describe("a server with sessions", () => {
  test("is asked all there is to ask; no tool is called, and no session is left", async () => {
    const server = await startSessionServer();
    const { facts, rows } = await probe(server.url);
    expect(rows.filter(({ outcome }) => outcome === "failed")).toEqual([]);
    expect(facts).toMatchObject({
      server: { name: "notes-server", title: "Notes", version: "1.2.3" },
      handshake: {
        version: "2025-11-25",
        hasSession: true,
      },
      tools: { names: ["wait"], listChanged: true },
      manySessions: true,
      unknownId: { status: 404, loss: "definite", text: "Session not found" },
      endedId: { status: 404, loss: "definite", ending: 200 },
      events: "without ids",
      listening: { offered: true, survives: true },
      resumedRequests: 1,
    });
    expect(judgeServer(facts)).toMatchObject({ isUsable: true, session: "stateful" });
    expect(server.calls()).toBe(0);
    // Of the session that listens: some servers end one that does not answer.
    expect(server.answeredPings()).toBe(1);
    expect(server.made()).toBeGreaterThan(3);
    expect(server.open()).toBe(0);
  });

  test("is called twice at most", async () => {
    const server = await startSessionServer({ toolMs: 200 });
    const { facts, rows } = await probe(server.url, { call });
    expect(facts).toMatchObject({ call: { name: "wait", isError: false } });
    expect(rows.find(({ check }) => check === "call wait")?.says).toContain("waited");
    expect(server.calls()).toBe(2);
    expect(server.open()).toBe(0);
  });

  test("is not called by a name that it does not have", async () => {
    const server = await startSessionServer();
    const { rows } = await probe(server.url, { call: { ...call, name: "waits" } });
    const row = rows.find(({ check }) => check === "call waits");
    expect(row).toMatchObject({ outcome: "failed", says: expect.stringContaining("mean wait?") });
    expect(server.calls()).toBe(0);
  });

  test("that ends a session with its listening stream is found out", async () => {
    const server = await startSessionServer({ endsAfterStream: true });
    const { facts } = await probe(server.url);
    expect(facts.listening).toEqual({ offered: true, survives: false });
    expect(judgeServer(facts).sentences.join(" ")).toContain("Do not listen");
  });

  test("that has one for the whole process is asked with it alone", async () => {
    const server = await startSessionServer({ isSingle: true });
    const { facts, rows } = await probe(server.url);
    expect(facts).toMatchObject({ manySessions: false, resumedRequests: 1 });
    expect(rows.find(({ check }) => check === "many sessions")?.says).toContain("restart");
    expect(server.made()).toBe(1);
    expect(server.open()).toBe(0);
  });

  test("that repeats ids and credentials does not get them into what is shown", async () => {
    const secret = "a-key-of-the-application";
    const server = await startSessionServer({
      refusal: (id) => ({
        status: 400,
        body: `bad session ${id}, key ${secret}, ${server.ids.join()}, /mcp?key=zebra%2Fcross%20ing`,
      }),
    });
    server.url.searchParams.set("key", "zebra/cross ing");
    const seen = JSON.stringify(await probe(server.url, { headers: { "x-api-key": secret } }));
    expect(seen).not.toContain("zebra");
    expect(seen).toContain("bad session");
    expect(seen).not.toContain(secret);
    for (const id of server.ids) expect(seen).not.toContain(id);
  });

  test("has none left when the probe is interrupted", async () => {
    const server = await startSessionServer();
    const interruption = new AbortController();
    const reason = new Error("Interrupted.");
    const onStart = (check: string) => check === "an ended id" && interruption.abort(reason);
    const running = probe(server.url, { signal: interruption.signal, onStart });
    await expect(running).rejects.toBe(reason);
    expect(server.made()).toBeGreaterThan(2);
    expect(server.open()).toBe(0);
  });
});

describe("a server without sessions", () => {
  test.each([
    ["both eras, nothing kept", "stateless", 0, "pinned"],
    ["the new era alone", "reject", 0, "pinned"],
    ["both eras, a list that may be kept", "stateless", 60_000, "server"],
  ] as const)("of %s", async (_, legacy, listMs, memory) => {
    const cacheHints = { "tools/list": { ttlMs: listMs, cacheScope: "public" as const } };
    const create = () => {
      const server = new McpServer({ name: "notes", version: "1.2.3" }, { cacheHints });
      server.registerTool("read", {}, async () => ({ content: [] }));
      return server;
    };
    const handler = toNodeHandler(createMcpHandler(create, { legacy }).fetch);
    const { origin } = await startLoopbackServer(handler);
    const { facts, rows } = await probe(new URL(`${origin}/mcp`));
    expect(rows.filter(({ outcome }) => outcome === "failed")).toEqual([]);
    expect(facts.server).toEqual({ name: "notes", version: "1.2.3" });
    expect(facts.tools).toEqual({ names: ["read"], listChanged: true, ttlMs: listMs });
    expect(facts.handshake?.hasSession).toBe(legacy === "stateless" ? false : undefined);
    expect(facts.modern).toEqual({ versions: ["2026-07-28"] });
    expect(judgeServer(facts)).toMatchObject({ isUsable: true, memory });
  });
});

describe("what is no MCP server, or none yet", () => {
  test.each([
    [200, "text/html", "<!doctype html><title>An application</title>"],
    [404, "text/html", "<h1>Not found</h1>"],
    [405, "text/plain", "Method Not Allowed"],
    [200, "application/json", '{"hello":"world"}'],
    [500, "application/json", "{"],
  ])("%i with %s is named as such", async (status, type, body) => {
    const { origin } = await startLoopbackServer((_, response) =>
      response.writeHead(status, { "content-type": type }).end(body),
    );
    const { facts, rows } = await probe(new URL(origin));
    expect(facts.notMcp).toBe(true);
    expect(rows).toEqual([expect.objectContaining({ check: "server", outcome: "failed" })]);
    expect(rows[0]?.says).toContain(`${status}, ${type}`);
    expect(judgeServer(facts).isUsable).toBe(false);
  });

  test("a server that hangs fails a check in time", async () => {
    const { origin } = await startLoopbackServer(() => undefined);
    const { rows } = await probe(new URL(origin), { limits: { requestMs: 100, watchMs: 100 } });
    expect(rows).toEqual([{ check: "server", outcome: "failed", says: "No answer within 0.1 s." }]);
  });

  test("a redirect is not followed, and its target is named without its query", async () => {
    const { origin } = await startLoopbackServer((_, response) =>
      response.writeHead(307, { location: "/else?token=of-somebody" }).end(),
    );
    const { rows } = await probe(new URL(`${origin}/mcp`));
    expect(rows[0]?.says).toContain(`307, a redirect to ${origin}/else,`);
  });

  test("the transport of 2024-11-05 is recognized", async () => {
    const { origin } = await startLoopbackServer((request, response) => {
      if (request.method !== "GET") return response.writeHead(405).end();
      response.writeHead(200, { "content-type": "text/event-stream" });
      return response.write("event: endpoint\ndata: /messages?sessionId=1\n\n");
    });
    const { facts } = await probe(new URL(`${origin}/sse`));
    expect(facts.oldTransport).toBe(true);
    expect(judgeServer(facts)).toMatchObject({ isUsable: true });
  });
});

const metadata = (origin: string, more: object) => ({
  "/.well-known/oauth-protected-resource/mcp": {
    resource: `${origin}/mcp`,
    authorization_servers: [origin],
    scopes_supported: ["notes:read"],
  },
  "/.well-known/oauth-authorization-server": {
    issuer: origin,
    authorization_endpoint: `${origin}/authorize`,
    token_endpoint: `${origin}/token`,
    ...more,
  },
});

async function startLocked(more: object | undefined) {
  const { origin } = await startLoopbackServer((request, response) => {
    const own = `http://${request.headers.host}`;
    const documents: Record<string, unknown> = more === undefined ? {} : metadata(own, more);
    const document = documents[request.url ?? ""];
    if (document !== undefined) return response.end(JSON.stringify(document));
    const status = request.url === "/mcp" ? 401 : 404;
    return response.writeHead(status, { "www-authenticate": 'Bearer error="invalid_token"' }).end();
  });
  return new URL(`${origin}/mcp`);
}

describe("a server that wants to know who asks", () => {
  test.each([
    [{}, ["pre-registered"]],
    [{ registration_endpoint: "https://id.example/register" }, ["dynamic", "pre-registered"]],
    [
      { client_id_metadata_document_supported: true },
      ["client ID metadata document", "pre-registered"],
    ],
  ])("says where, and which clients: %j", async (more, registration) => {
    const url = await startLocked(more);
    const { facts } = await probe(url);
    expect(facts.authorization).toEqual({
      status: 401,
      wasSent: false,
      issuer: url.origin,
      scopes: ["notes:read"],
      registration,
    });
    expect(judgeServer(facts)).toMatchObject({ isUsable: false, auth: "oauth" });
  });

  test("and does not say from where has an operator who gives keys out", async () => {
    const { facts } = await probe(await startLocked(undefined));
    expect(facts.authorization).toEqual({ status: 401, wasSent: false });
    expect(judgeServer(facts).auth).toBeUndefined();
  });

  test("and refuses a token says so, and the token is not shown", async () => {
    const headers = { authorization: "Bearer a-token-of-mine" };
    const seen = await probe(await startLocked({}), { headers });
    expect(seen.facts.authorization).toMatchObject({ wasSent: true });
    expect(judgeServer(seen.facts).sentences[0]).toContain("refuses the credentials");
    expect(JSON.stringify(seen)).not.toContain("a-token-of-mine");
  });
});
