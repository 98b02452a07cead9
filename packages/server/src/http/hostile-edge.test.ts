import { once } from "node:events";
import { connect } from "node:net";
import type { Principal } from "@durable-mcp/core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openSocket } from "../../test/edge.ts";
import { listen } from "../../test/listen.ts";
import { createRawClient } from "../../test/raw-client.ts";
import { createReplicas } from "../../test/replicas.ts";
import { toNodeHandler } from "../node.ts";

/** A handler on `node:http`; `x-user` names the user, and nobody else gets in. */
async function startEdge() {
  const replicas = createReplicas({
    principal: (request): Principal | Response | undefined => {
      const user = request.headers.get("x-user");
      if (user === "teapot") return new Response("short and stout", { status: 418 });
      return user === null ? undefined : { type: "user", issuer: "https://i.example", id: user };
    },
  });
  const { handler } = replicas.start();
  const server = await listen(toNodeHandler(handler));
  const headers = { "x-user": "ada" };
  const overHttp = createRawClient(async (request) => {
    const body = request.body === null ? {} : { body: await request.text() };
    return await fetch(server.url, { method: request.method, headers: request.headers, ...body });
  }, headers);
  return { ...replicas, ...server, client: overHttp };
}

let edge: Awaited<ReturnType<typeof startEdge>>;
let id: string;
beforeAll(async () => {
  edge = await startEdge();
  id = await edge.client.initialize();
});
afterAll(() => edge[Symbol.asyncDispose]());

const head = (lines: Record<string, string>) =>
  Object.entries({
    accept: "application/json, text/event-stream",
    "content-type": "application/json",
    ...lines,
  })
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join("");

describe("a body is not read", () => {
  test.each([
    ["of a sender that nobody knows", {}, "401"],
    ["of one that the principal function answers itself", { "x-user": "teapot" }, "418"],
    ["when its length is over the limit", { "x-user": "ada", "content-length": "9000000" }, "413"],
  ])("%s: the answer comes at once", async (_, lines, status) => {
    const { socket, text } = await openSocket(edge.url);
    socket.write(
      `POST /mcp HTTP/1.1\r\nHost: localhost\r\n${head({ "content-length": "4000000", ...lines })}\r\n{"jsonrpc"`,
    );
    // Of 4 MB, 10 bytes have come.
    await expect.poll(text, { interval: 5 }).toContain(`HTTP/1.1 ${status}`);
    socket.destroy();
  });
});

const request = (params: string, more = '"id":1') =>
  `{"jsonrpc":"2.0",${more},"method":"tools/call","params":${params}}`;
const deep = (levels: number) => `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`;

test.each([
  ["deep JSON", request(`{"name":"list","arguments":${deep(100_000)}}`), 400],
  ["brackets alone", "[".repeat(1_000_000), 400],
  ["an id of many digits", request('{"name":"list"}', `"id":${"9".repeat(100_000)}`), 400],
  ["an id that is not a number", request('{"name":"list"}', '"id":NaN'), 400],
  ["two ids", request('{"name":"list"}', '"id":null,"id":1'), 200],
  ["two methods", request('{"name":"list"}', '"id":1,"method":"evil"'), 200],
  ["constructor in params", request('{"name":"list","constructor":{"prototype":{"x":1}}}'), 200],
  [
    "a long list in params",
    request(`{"name":"list","arguments":{"a":[${"0,".repeat(99_999)}0]}}`),
    200,
  ],
  [
    "many keys",
    request(`{"name":"list",${Array.from({ length: 50_000 }, (_, n) => `"k${n}":0`).join()}}`),
    200,
  ],
  ["an unknown tool", request('{"name":"__proto__"}'), 200],
  ["no text at all", "", 400],
  ["bytes that are no UTF-8", "\u0000\uFFFD", 400],
])("a body with %s", async (_, body, status) => {
  const response = await edge.client.send("POST", { "mcp-session-id": id }, body);
  expect(response.status).toBe(status);
  await response.text();
  expect(Object.prototype).not.toHaveProperty("polluted");
  expect(await edge.client.call(id, "list")).toMatchObject({ status: 200 });
  expect(edge.events.filter(({ type }) => type === "failed")).toEqual([]);
});

test.each([
  ["text/event-stream", 406],
  ["", 406],
  ["application/json;q=0.1, text/event-stream;q=0.1", 200],
  [`${"a/b, ".repeat(2_000)}application/json, text/event-stream`, 200],
])("a POST that accepts %s gets %i", async (accept, status) => {
  const body = request('{"name":"list"}', '"id":5');
  const response = await edge.client.send("POST", { "mcp-session-id": id, accept }, body);
  await response.text();
  expect(response.status).toBe(status);
});

test.each(["HEAD", "PUT", "PATCH", "OPTIONS"])("%s is no method of MCP", async (method) => {
  const response = await edge.client.send(method, { "mcp-session-id": id });
  expect([response.status, response.headers.get("allow")]).toEqual([405, "GET, POST, DELETE"]);
  // An answer to HEAD has no body, which would be taken for the next answer.
  expect((await response.text()).includes("Method not allowed")).toBe(method !== "HEAD");
  expect(await edge.client.call(id, "list")).toMatchObject({ status: 200 });
});

test("headers that are too long are refused by Node, and hurt nobody", async () => {
  const socket = connect(Number(new URL(edge.url).port), "127.0.0.1");
  const lines = { "x-user": "ada", "mcp-session-id": id, "last-event-id": "x".repeat(20_000) };
  socket.write(`GET /mcp HTTP/1.1\r\nHost: localhost\r\n${head(lines)}\r\n`);
  const [data] = (await once(socket, "data")) as [Buffer];
  expect(String(data)).toContain("HTTP/1.1 431");
  socket.destroy();
  expect(await edge.client.call(id, "list")).toMatchObject({ status: 200 });
});
