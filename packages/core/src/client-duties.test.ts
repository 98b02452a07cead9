import { describe, expect, test } from "vitest";
import {
  eventText,
  initializeResult,
  sendResult,
  sendText,
  startEvents,
  startMcpServer,
  type TestMcpServer,
} from "../test/mcp-server.ts";
import { createRpcClient, readMessages } from "../test/rpc-client.ts";
import { saveSession, startHeldStep, startStep } from "../test/step.ts";
import { endSession } from "./handshake/end-session.ts";

const revisions = ["2025-03-26", "2025-06-18", "2025-11-25"];
const accept = "application/json, text/event-stream";

/** A server of this revision that breaks the stream of a tool call once; the answer comes by GET. */
async function startServerOf(protocolVersion: string): Promise<TestMcpServer> {
  const server = await startMcpServer();
  let answer = "";
  server.use(({ method, message, headers: received }, response) => {
    if (message?.method === "initialize") {
      server.sessionIds.push(`secret-session-${server.sessionIds.length + 1}`);
      const result = { ...initializeResult, protocolVersion };
      const named = { "mcp-session-id": server.sessionIds.at(-1)! };
      return sendResult(response, message.id, result, named);
    }
    if (received["mcp-session-id"] !== server.sessionIds.at(-1)) {
      return sendText(response, 404, "Session not found");
    }
    if (message?.method === "tools/call") {
      startEvents(response);
      answer = eventText({ jsonrpc: "2.0", id: message.id, result: { content: [] } }, "e-2");
      return void response.end("retry: 1\nid: e-1\ndata:\n\n");
    }
    if (method === "GET") {
      startEvents(response);
      return void response.end(answer);
    }
    if (message?.method === "ping") return sendResult(response, message.id, {});
    response.writeHead(method === "DELETE" ? 200 : 202).end();
  });
  return server;
}

/** A first call, one after the session was lost, and the end of the session: every kind of message. */
async function liveThrough(server: TestMcpServer) {
  const { client, slot } = startStep(server);
  await client.handshake();
  expect(await client.request("tools/call")).toMatchObject({ result: {} });
  server.sessionIds.push("another process's");
  expect(await client.request("tools/call")).toMatchObject({ result: {} });
  await endSession({ url: server.url, snapshot: slot.snapshot! });
}

const isInitialize = ({ message }: { message: any }) => message?.method === "initialize";

describe.each(revisions)("a session of %s", (revision) => {
  test("names id and version on every request after initialize, and on none before (S11, S12, S39, S56, S59)", async () => {
    const server = await startServerOf(revision);
    await liveThrough(server);
    expect(server.log).toEqual([
      "POST initialize",
      "POST notifications/initialized",
      "POST tools/call",
      "GET",
      // The lost one's last, and the new one's.
      "POST tools/call",
      "POST initialize",
      "POST notifications/initialized",
      "POST tools/call",
      "GET",
      "DELETE",
    ]);
    const [lost, , live] = ["secret-session-1", "another process's", "secret-session-3"];
    expect(server.requests.map((request) => request.headers["mcp-session-id"])).toEqual([
      undefined,
      ...[lost, lost, lost, lost],
      undefined,
      ...[live, live, live, live],
    ]);
    for (const request of server.requests) {
      const version = isInitialize(request) ? undefined : revision;
      expect(request.headers["mcp-protocol-version"]).toBe(version);
    }
    const gets = server.requests.filter(({ method }) => method === "GET");
    expect(gets.map((request) => request.headers.accept)).toEqual(
      Array.from({ length: 2 }, () => "text/event-stream"),
    );
  });

  test("sends each message alone, as a POST that accepts both kinds of answers (S3, S19, S20, S21)", async () => {
    const server = await startServerOf(revision);
    await liveThrough(server);
    const posts = server.requests.filter(({ method }) => method === "POST");
    expect(posts).toHaveLength(7);
    for (const { message, path, headers: sent } of posts) {
      expect(message).toMatchObject({ jsonrpc: "2.0", method: expect.any(String) });
      expect(path).toBe("/mcp");
      expect(sent).toMatchObject({ accept, "content-type": "application/json" });
    }
    // Nothing but POSTs carries a message.
    expect(server.requests.filter(({ body }) => body !== "")).toEqual(posts);
  });

  test("offers the revision that the client offers (S8)", async () => {
    const server = await startServerOf(revision);
    const { client } = startStep(server);
    expect(await client.handshake({ protocolVersion: revision })).toMatchObject({
      protocolVersion: revision,
    });
    expect(server.requests[0]?.message.params.protocolVersion).toBe(revision);
  });
});

test("greets the server before anything else, whatever the client asks for first (S1, S2, S5, S6)", async () => {
  const server = await startMcpServer();
  const { client, fetch } = startStep(server, { listening: true });
  const stream = fetch(server.url, { headers: { accept: "text/event-stream" } });
  const answers = [client.request("tools/call"), client.request("tools/list")];
  expect(await Promise.all(answers)).toMatchObject([{ result: {} }, { result: {} }]);
  expect((await stream).status).toBe(405);
  expect(server.log.slice(0, 2)).toEqual(["POST initialize", "POST notifications/initialized"]);
  expect(server.log.slice(2).toSorted()).toEqual(["GET", "POST tools/call", "POST tools/list"]);
  expect(server.requests[0]?.message.params).toEqual({
    protocolVersion: "2025-11-25",
    capabilities: expect.any(Object),
    clientInfo: { name: expect.any(String), version: expect.any(String) },
  });
});

test("keeps nothing of a server that the client leaves for its revision (S10)", async () => {
  const server = await startServerOf("2024-10-07");
  const { client, slot, events } = startStep(server);
  const { result } = await client.request("initialize", {
    protocolVersion: "2025-11-25",
    capabilities: {},
    clientInfo: { name: "strict", version: "1" },
  });
  // The client sees what it does not support, and sends nothing more.
  expect(result.protocolVersion).toBe("2024-10-07");
  expect(slot.snapshot).toBeUndefined();
  expect([server.log, events]).toEqual([["POST initialize"], []]);
});

test("never cancels initialize, neither on abort nor when a client asks for it (S64)", async () => {
  const server = await startMcpServer(() => {
    // Never answered.
  });
  const { client } = startStep(server, { cancelOnAbort: true });
  const controller = new AbortController();
  const { signal } = controller;
  const opening = client.request("initialize", { capabilities: {} }, { id: "own", signal });
  await expect.poll(() => server.requests.length).toBe(1);
  const params = { requestId: "own" };
  const cancellation = { jsonrpc: "2.0", method: "notifications/cancelled", params };
  expect((await client.post(cancellation)).status).toBe(202);
  controller.abort(new Error("enough"));
  await expect(opening).rejects.toThrow("enough");
  await new Promise((resolve) => {
    setTimeout(resolve, 40);
  });
  expect(server.log).toEqual(["POST initialize"]);
});

test("carries a server's ping to the client and the answer back, on the same session (S72)", async () => {
  const { client, held, arrived, server } = await startHeldStep();
  const answer = client.post({ jsonrpc: "2.0", id: 0, method: "tools/call" });
  await arrived(1);
  const { response, message } = held[0]!;
  startEvents(response);
  response.write(eventText({ jsonrpc: "2.0", id: 0, method: "ping" }));
  const reader = (await answer).body!.getReader();
  const { value } = await reader.read();
  expect(new TextDecoder().decode(value)).toContain('"method":"ping"');
  await client.post({ jsonrpc: "2.0", id: 0, result: {} });
  const pong = server.requests.at(-1);
  expect(pong?.message).toEqual({ jsonrpc: "2.0", id: 0, result: {} });
  expect(pong?.headers["mcp-session-id"]).toBe(server.sessionIds[0]);
  response.end(eventText({ jsonrpc: "2.0", id: message.id, result: {} }));
  await reader.read();
});

test.each<[string, unknown]>([
  ["an unknown request", { requestId: "nobody's" }],
  ["a request of the client's own", { requestId: 0 }],
  ["a request that is none", { requestId: { "": null } }],
  ["nothing", undefined],
])("survives a cancellation of %s by the server (S68)", async (_, params) => {
  const { client, held, arrived } = await startHeldStep();
  const answer = client.post({ jsonrpc: "2.0", id: 0, method: "tools/call" });
  await arrived(1);
  const { response, message } = held[0]!;
  const cancellation = { jsonrpc: "2.0", method: "notifications/cancelled", params };
  startEvents(response);
  response.write(eventText(cancellation));
  response.end(eventText({ jsonrpc: "2.0", id: message.id, result: { n: 1 } }));
  expect(await readMessages(await answer)).toEqual([
    JSON.parse(JSON.stringify(cancellation)),
    { jsonrpc: "2.0", id: 0, result: { n: 1 } },
  ]);
});

test("sends and hands on text of any script as UTF-8 (S78)", async () => {
  const text = "ä ß 漢字 😀 \u2028 \u0000 עברית";
  const server = await startMcpServer();
  const { fetch } = startStep(server, { snapshot: await saveSession(server) });
  const client = createRpcClient(fetch, server.url);
  const answer = await client.request("tools/call", { name: "echo", arguments: { text } });
  expect(server.requests[0]?.message.params.arguments.text).toBe(text);
  expect(JSON.parse(answer.result.content[0].text)).toEqual({ text });
});
