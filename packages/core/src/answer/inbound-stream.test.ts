import type { ServerResponse } from "node:http";
import { describe, expect, test } from "vitest";
import { eventText, sendText, startEvents, startMcpServer } from "../../test/mcp-server.ts";
import { eventMessages, readMessages } from "../../test/rpc-client.ts";
import { saveSession, startStep } from "../../test/step.ts";

const get = { method: "GET", headers: { accept: "text/event-stream" } };
const resumeFrom = (id: string) => ({ headers: { ...get.headers, "last-event-id": id } });
const note = { jsonrpc: "2.0", method: "notifications/message", params: {} };

/** A resumed step on a server whose GET answers are left to the test. */
async function startStreamingStep(options: Parameters<typeof startStep>[1] = {}) {
  const server = await startMcpServer();
  const snapshot = await saveSession(server);
  const streams: ServerResponse[] = [];
  server.use(({ method, headers }, response, next) => {
    if (method !== "GET" || headers["mcp-session-id"] === undefined) return next();
    streams.push(response);
    startEvents(response);
    response.write(eventText(note));
  });
  return { ...startStep(server, { snapshot, ...options }), server, snapshot, streams };
}

test("answers a GET 405 locally", async () => {
  const { fetch, server } = await startStreamingStep();
  expect((await fetch(server.url, get)).status).toBe(405);
  expect(server.requests).toEqual([]);
});

describe("a GET with Last-Event-ID", () => {
  test("goes out on the session", async () => {
    const { fetch, server, snapshot, streams } = await startStreamingStep();
    const response = await fetch(server.url, resumeFrom("e-1"));
    streams[0]?.end();
    expect(await readMessages(response)).toEqual([note]);
    expect(server.requests).toMatchObject([
      {
        method: "GET",
        headers: {
          "last-event-id": "e-1",
          "mcp-session-id": snapshot.sessionId,
          "mcp-protocol-version": "2025-11-25",
        },
      },
    ]);
  });

  test("brings the answer to a request that waits, under the client's id", async () => {
    const { client, fetch, server, streams } = await startStreamingStep();
    let wireId = "";
    let first: ServerResponse | undefined;
    server.use(({ method, message }, response) => {
      if (method === "GET") {
        streams.push(response);
        startEvents(response);
        response.end(eventText({ jsonrpc: "2.0", id: wireId, result: { late: true } }));
      } else {
        wireId = message.id;
        first = response;
        startEvents(response);
      }
    });
    const stream = await client.post({ jsonrpc: "2.0", id: 9, method: "tools/call" });
    const response = await fetch(server.url, resumeFrom("e-1"));
    expect(await readMessages(response)).toEqual([
      { jsonrpc: "2.0", id: 9, result: { late: true } },
    ]);
    first?.end();
    expect(await readMessages(stream)).toEqual([]); // Answered elsewhere: no error here.
  });

  test("shows a refusal without the session id", async () => {
    const { fetch, server } = await startStreamingStep();
    server.use(({ headers }, response) => {
      response.setHeader("mcp-session-id", "another");
      sendText(response, 404, `no session ${String(headers["mcp-session-id"])}`);
    });
    const response = await fetch(server.url, resumeFrom("e-1"));
    expect([response.status, await response.text()]).toEqual([404, "no session [session id]"]);
    expect(response.headers.has("mcp-session-id")).toBe(false);
  });

  test("is not sent when there is no session to resume on", async () => {
    const server = await startMcpServer();
    const { fetch } = startStep(server);
    expect((await fetch(server.url, resumeFrom("e-1"))).status).toBe(405);
    expect(server.requests).toEqual([]);
  });
});

describe("with listen", () => {
  test("opens the stream and hands on what comes, at once", async () => {
    const { fetch, server, snapshot } = await startStreamingStep({ listening: true });
    const response = await fetch(server.url, get);
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    expect(eventMessages((await reader.read()).value ?? "")).toEqual([note]);
    expect(server.requests[0]?.headers["mcp-session-id"]).toBe(snapshot.sessionId);
    await reader.cancel();
    await server.peerGone;
  });

  test("waits until initialized was acknowledged", async () => {
    const server = await startMcpServer();
    const { client, fetch } = startStep(server, { listening: true });
    const acknowledging = Promise.withResolvers<void>();
    server.use(async ({ message, method }, response, next) => {
      if (method === "GET") return sendText(response, 200, "opened");
      if (message?.method === "notifications/initialized") await acknowledging.promise;
      return next();
    });
    const opened = fetch(server.url, get);
    const handshake = client.handshake();
    await expect.poll(() => server.log.length).toBe(2);
    expect(server.log).not.toContain("GET");
    acknowledging.resolve();
    await Promise.all([opened, handshake]);
    expect(server.log).toEqual(["POST initialize", "POST notifications/initialized", "GET"]);
    expect(server.requests[2]?.headers["mcp-session-id"]).toBe("secret-session-1");
  });

  test("never opens a second stream beside the first, and again when that is over", async () => {
    const { fetch, server, streams } = await startStreamingStep({ listening: true });
    const first = await fetch(server.url, get);
    expect((await fetch(server.url, get)).status).toBe(405);
    expect(server.requests).toHaveLength(1);
    expect(streams).toHaveLength(1);
    await first.body?.cancel();
    const second = await fetch(server.url, get);
    expect(second.status).toBe(200);
    await second.body?.cancel();
    const third = await fetch(server.url, get);
    expect(third.status).toBe(200);
    await third.body?.cancel();
  });

  test("answers 405 where the server answers 405", async () => {
    const { fetch, server } = await startStreamingStep({ listening: true });
    server.use((_, response) => sendText(response, 405, "no"));
    expect((await fetch(server.url, get)).status).toBe(405);
    expect((await fetch(server.url, get)).status).toBe(405);
    expect(server.log).toEqual(["GET", "GET"]);
  });

  test("of a step whose session was lost before it opens with the session in its place", async () => {
    const { client, fetch, server } = await startStreamingStep({ listening: true });
    server.forgetSessions();
    server.use(({ method, headers }, response, next) => {
      if (method !== "GET" || headers["mcp-session-id"] !== server.sessionIds.at(-1)) return next();
      if (server.sessionIds.length === 1) return next();
      startEvents(response);
      response.write(eventText(note));
    });
    const response = await fetch(server.url, get);
    await client.request("tools/call");
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    expect(eventMessages((await reader.read()).value ?? "")).toEqual([note]);
    expect(server.log.slice(-2)).toEqual(["GET", "POST tools/call"]);
    await reader.cancel();
  });

  test("does not hold requests for longer than a second when the server is silent", async () => {
    const { client, fetch, server } = await startStreamingStep({ listening: true });
    server.use(({ method }, _response, next) => (method === "GET" ? undefined : next()));
    const controller = new AbortController();
    const opening = fetch(server.url, { ...get, signal: controller.signal });
    expect(await client.request("tools/call")).toMatchObject({ result: {} });
    controller.abort(new Error("left"));
    await expect(opening).rejects.toThrow("left");
  });

  test("waits for the stream of the step before to close, and then gives up", async () => {
    const { client, events, ...step } = await startStreamingStep({ listening: true });
    const { fetch, server, streams } = step;
    let conflicts = 2;
    server.use(({ method }, response, next) => {
      if (method !== "GET") return next();
      if (conflicts-- > 0) return sendText(response, 409, "Conflict");
      streams.push(response);
      startEvents(response);
    });
    const response = await fetch(server.url, get);
    expect([response.status, server.log.length]).toEqual([200, 3]);
    await response.body?.cancel();
    expect(events).toEqual([]);
    conflicts = Number.POSITIVE_INFINITY;
    expect((await fetch(server.url, get)).status).toBe(405);
    expect(events.at(-1)).toEqual({ type: "stream-taken" });
    const subscribed = await client.request("resources/subscribe", { uri: "file:///a" });
    expect(subscribed.error?.message).toContain("another step listens on this session");
    expect(server.log).not.toContain("POST resources/subscribe");
  });

  test("holds requests until the stream is open, or refused", async () => {
    const { client, fetch, server, streams } = await startStreamingStep({
      listening: true,
    });
    const opening = Promise.withResolvers<void>();
    server.use(async ({ method }, response, next) => {
      if (method !== "GET") return next();
      await opening.promise;
      streams.push(response);
      startEvents(response);
    });
    const opened = fetch(server.url, get);
    const call = client.request("tools/call");
    await expect.poll(() => server.log).toEqual(["GET"]);
    opening.resolve();
    await Promise.all([opened, call]);
    expect(server.log).toEqual(["GET", "POST tools/call"]);
    await (await opened).body?.cancel();
  });

  test("goes on with the session that takes a lost one's place, before the call does", async () => {
    const { client, fetch, server, streams } = await startStreamingStep({
      listening: true,
    });
    const response = await fetch(server.url, get);
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    await reader.read();
    server.forgetSessions();
    await client.request("tools/call");
    expect(server.log.slice(-2)).toEqual(["GET", "POST tools/call"]);
    expect(server.requests.at(-2)?.headers["mcp-session-id"]).toBe(server.sessionIds.at(-1));
    expect(eventMessages((await reader.read()).value ?? "")).toEqual([note]);
    expect(streams).toHaveLength(2);
    await reader.cancel();
  });

  test.each([401, 503])("shows the client a %i", async (status) => {
    const { fetch, server } = await startStreamingStep({ listening: true });
    server.use((_, response) => sendText(response, status, "no"));
    expect((await fetch(server.url, get)).status).toBe(status);
  });

  test.each(["end", "destroy"] as const)("opens the stream again after its %s", async (how) => {
    const { fetch, server, streams } = await startStreamingStep({ listening: true });
    const response = await fetch(server.url, get);
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    await reader.read();
    streams[0]?.write("retry: 5\nid: e-1\ndata: {}\n\n");
    await reader.read();
    streams[0]?.[how]();
    expect(eventMessages((await reader.read()).value ?? "")).toEqual([note]);
    expect(server.requests.map(({ headers }) => headers["last-event-id"])).toEqual([
      undefined,
      "e-1",
    ]);
    await reader.cancel();
  });

  test("lets go of a GET that aborts while it waits, and may be opened again", async () => {
    const server = await startMcpServer();
    const { client, fetch } = startStep(server, { listening: true });
    const controller = new AbortController();
    const waiting = fetch(server.url, { ...get, signal: controller.signal });
    controller.abort(new Error("left"));
    await expect(waiting).rejects.toThrow("left");
    await client.handshake();
    server.use((_, response) => sendText(response, 200, "opened"));
    expect((await fetch(server.url, get)).status).toBe(200);
  });
});
