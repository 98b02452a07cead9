import { sendingSafeAgain } from "@durable-mcp/core/internal";
import { describe, expect, test } from "vitest";
import { sendText } from "../../../core/test/http-server.ts";
import { type Interceptor, startNotebookServer } from "../../../sessions/test/notebook-server.ts";
import { notebook } from "../saved-session.ts";
import { alice, callTool, startApplication } from "../step.ts";
import type { McpClientConnectionOptions } from "../../src/index.ts";

async function start(options: Partial<McpClientConnectionOptions> = {}) {
  const server = await startNotebookServer();
  const notes = notebook(server, { ...options });
  const application = startApplication({ notes });
  /** Answers the first requests of a method in the server's place. */
  const fail = (method: string, times: number, answer: Interceptor) => {
    let left = times;
    server.intercept((request, response) => {
      if (request.message?.method !== method || left === 0) return "next";
      left -= 1;
      return answer(request, response);
    });
  };
  const sent = (method: string) => server.log.filter((line) => line === `POST ${method}`).length;
  return { server, application, fail, sent };
}

const busy =
  (status: number, headers: Record<string, string> = {}): Interceptor =>
  (_, response) =>
    void response.writeHead(status, headers).end("Busy");
const reset: Interceptor = ({ raw }) => void raw.socket.resetAndDestroy();
/** Headers and a piece; then the connection breaks. */
const cut =
  (type: string, piece: string): Interceptor =>
  (_, response) => {
    response.writeHead(200, { "content-type": type });
    response.write(piece, () => setTimeout(() => response.destroy(), 20));
  };

const methods = ["initialize", "notifications/initialized", "tools/list"];

describe.each(methods)("%s is sent once more", (method) => {
  test.each<[string, Interceptor]>([
    ["502", busy(502)],
    ["503", busy(503)],
    ["504", busy(504)],
    ["429", busy(429)],
    ["429 with Retry-After: 0", busy(429, { "retry-after": "0" })],
    [
      "503 with a Retry-After that is over",
      busy(503, { "retry-after": "Sun, 22 Nov 2020 10:00:00 GMT" }),
    ],
    ["a connection that was reset", reset],
  ])("after %s", async (_, answer) => {
    const { application, fail, sent, server } = await start();
    fail(method, 1, answer);
    await application.step({}, async (registry) => {
      expect(Object.keys(await registry.tools())).toContain("notes__add_note");
    });
    expect(sent(method)).toBe(2);
    expect(server.sessionIds).toHaveLength(1);
    expect(application.takeEvents()).toEqual(["started"]);
  });

  test("and not a third time", async () => {
    const { application, fail, sent } = await start();
    fail(method, Infinity, busy(503));
    await application.step({}, async (registry) => {
      expect(await registry.tools()).toEqual({});
    });
    // The client itself sends `initialize` again when its probe failed.
    expect(sent(method)).toBe(method === "initialize" ? 3 : 2);
    expect(application.events.at(-1)).toMatchObject({ type: "unavailable", reason: "refused" });
  });
});

describe.each(["stateful", "stateless"] as const)("on a %s connection", (session) => {
  test.each([
    ["JSON", cut("application/json", '{"jsonrpc":')],
    ["an event", cut("text/event-stream", "event: message\ndata: {")],
    ["a stream after another event", cut("text/event-stream", "id: 1\ndata: \n\ndata: {")],
  ])("a first request is sent once more whose answer breaks off in %s", async (_, answer) => {
    for (const method of ["server/discover", "initialize", "tools/list"]) {
      const { application, fail, server } = await start({ session });
      fail(method, 1, answer);
      await application.step({}, async (registry) => {
        expect(Object.keys(await registry.tools())).toContain("notes__add_note");
      });
      // Not after the answer is whole.
      expect(server.log.filter((each) => each === "POST tools/list").length).toBeLessThan(3);
    }
  });
});

test("a question in front of the answer to a listing is not held back", async () => {
  const asks = { jsonrpc: "2.0", id: 1, method: "roots/list" };
  const body = new ReadableStream<string>({
    start: (controller) => controller.enqueue(`data: ${JSON.stringify(asks)}\n\n`),
  }).pipeThrough(new TextEncoderStream());
  const headers = { "content-type": "text/event-stream" };
  const fetch = sendingSafeAgain(async () => new Response(body, { headers }), 60_000);
  const list = { jsonrpc: "2.0", id: 1, method: "tools/list" };
  const response = await fetch("https://mail.example/mcp", {
    ...{ method: "POST", body: JSON.stringify(list) },
  });
  const { value } = await response.body!.getReader().read();
  expect(new TextDecoder().decode(value)).toContain("roots/list");
});

test("a listing is sent once more again, after the server was back", async () => {
  const statuses = [503, 503, 503, 200, 503, 200];
  let requests = 0;
  const send = () => Promise.resolve(new Response("", { status: statuses[requests++]! }));
  const fetch = sendingSafeAgain(send, 10_000);
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" });
  const list = async () => (await fetch("http://127.0.0.1", { method: "POST", body })).status;
  const sent: [status: number, requests: number][] = [];
  for (let turn = 0; turn < 4; turn += 1) sent.push([await list(), requests]);
  expect(sent).toEqual([
    [503, 2],
    [503, 3],
    [200, 4],
    [200, 6],
  ]);
});

describe("nothing is sent once more", () => {
  // By the fetch, that is: the client itself sends `initialize` again when its probe failed.
  test.each<[string, Interceptor]>([
    ["500", busy(500)],
    ["401", busy(401)],
    ["404", busy(404)],
    ["a Retry-After that leaves no time", busy(503, { "retry-after": "60" })],
    ["a date that leaves no time", busy(429, { "retry-after": "Fri, 31 Dec 2100 23:59:59 GMT" })],
  ])("after %s", async (_, answer) => {
    const { application, fail, sent } = await start();
    fail("initialize", Infinity, answer);
    await application.step({}, (registry) => registry.tools());
    expect(sent("initialize")).toBe(2);
  });

  test("for a tool call, whatever its arguments say", async () => {
    const { application, fail, sent } = await start();
    await application.step({}, async (registry) => {
      const tools = await registry.tools();
      fail("tools/call", Infinity, busy(503));
      const text = JSON.stringify({ method: "tools/list" });
      const input = { text, method: "tools/list" };
      await expect(callTool(tools, "notes__add_note", input)).rejects.toThrow("503");
    });
    expect(sent("tools/call")).toBe(1);
  });
});

test.each([
  ["a number of seconds", () => "1"],
  ["a date", () => new Date(Date.now() + 2_000).toUTCString()],
])("Retry-After is heeded, as %s", async (_, retryAfter) => {
  const times: number[] = [];
  const send = () => {
    times.push(performance.now());
    const headers = { "retry-after": retryAfter() };
    return Promise.resolve(new Response("", { status: times.length === 1 ? 429 : 200, headers }));
  };
  const fetch = sendingSafeAgain(send, 10_000);
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize" });
  expect((await fetch("http://127.0.0.1", { method: "POST", body })).status).toBe(200);
  expect(times[1]! - times[0]!).toBeGreaterThan(999);
});

test("a session that a refusal names is ended", async () => {
  const { application, fail, server } = await start();
  fail("initialize", 1, busy(503, { "mcp-session-id": "made-and-refused" }));
  await application.step({}, (registry) => registry.tools());
  await expect
    .poll(() => server.requests.filter(({ method }) => method === "DELETE"))
    .toMatchObject([{ headers: { "mcp-session-id": "made-and-refused" } }]);
});

test("a refused listing leaves the session alone that it names", async () => {
  const { application, fail, server } = await start();
  await application.step({}, async (registry) => {
    fail("tools/list", 1, ({ headers }, response) => {
      const id = String(headers["mcp-session-id"]);
      response.writeHead(503, { "mcp-session-id": id }).end("Busy");
    });
    await callTool(await registry.tools(), "notes__add_note", { text: "a" });
  });
  expect(server.log).not.toContain("DELETE");
  expect(server.sessionIds).toHaveLength(1);
});

test("an abort ends the pause", async () => {
  const { application, fail, sent } = await start();
  const controller = new AbortController();
  fail("initialize", Infinity, (_, response) => {
    sendText(response, 503);
    setTimeout(() => controller.abort(new Error("left")), 20);
  });
  const registry = application.provider.create({
    principal: alice,
    abortSignal: controller.signal,
  });
  await expect(registry.tools()).rejects.toThrow("left");
  await registry.dispose();
  expect(sent("initialize")).toBe(1);
});
