import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { expect, onTestFinished, test } from "vitest";
import { begin, messagesOf, post, readEvents, toolCall } from "../../test/raw-client.ts";
import { type GotMessage, startRawServer } from "../../test/raw-server.ts";
import { serveGateway } from "../../test/serve-gateway.ts";

type Hostile = (message: GotMessage, response: ServerResponse) => unknown;

const json = { "content-type": "application/json" };
const events = { "content-type": "text/event-stream" };
const answerTo = (id: unknown, text = "fine") =>
  JSON.stringify({ jsonrpc: "2.0", id, result: { content: [{ type: "text", text }] } });

/** What a server may do to a call. */
const toCalls: readonly [string, Hostile][] = [
  ["breaks the connection", (_, response) => response.destroy()],
  ["redirects", (_, response) => response.writeHead(307, { location: "/elsewhere" }).end()],
  [
    "redirects to another host",
    (_, response) => response.writeHead(302, { location: "http://evil.example/" }).end(),
  ],
  [
    "sends 100,000 characters of headers",
    ({ id }, response) =>
      response.writeHead(200, { ...json, "x-long": "x".repeat(100_000) }).end(answerTo(id)),
  ],
  ["sends a page", (_, response) => response.writeHead(200).end("<html>")],
  ["sends nothing", (_, response) => response.writeHead(204).end()],
  ["sends half of an answer", ({ id }, response) => cut(response, answerTo(id))],
  [
    "answers another request",
    (_, response) => response.writeHead(200, events).end(`data: ${answerTo("another")}\n\n`),
  ],
  [
    "nests an answer 100,000 deep",
    ({ id }, response) =>
      response
        .writeHead(200, json)
        .end(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${"[".repeat(100_000)}`),
  ],
  ["wants a sign-in elsewhere", (_, response) => refuse(response, 401)],
  ["says that it has forgotten, each time", (_, response) => refuse(response, 404)],
];

function cut(response: ServerResponse, text: string): void {
  response.writeHead(200, json).write(text.slice(0, 20), () => response.destroy());
}

function refuse(response: ServerResponse, status: number): void {
  const challenge = 'Bearer resource_metadata="http://evil.example/"';
  response.writeHead(status, { "www-authenticate": challenge }).end();
}

test.each(toCalls)(
  "a server that %s: its call is told, without words of a socket, and nobody goes elsewhere",
  async (_, hostile) => {
    const server = await startRawServer((message, response) =>
      message.method === "tools/call" ? hostile(message, response) : false,
    );
    const { url } = await serveGateway(server.url);
    const session = await begin(url);
    const response = await post(url, toolCall(7, "any"), { session });
    expect(response.status).toBe(200);
    expect(response.headers.get("www-authenticate")).toBeNull();
    const [answer] = await messagesOf(response);
    expect(answer).toMatchObject({ id: 7, result: { isError: true } });
    expect(JSON.stringify(answer)).not.toMatch(/ECONN|socket|UND_ERR|evil|raw-session|terminated/i);
    expect(server.seen.filter((method) => method === "tools/call").length).toBeLessThan(3);
  },
);

/** What a server may do to `initialize`. */
const toInitialize: readonly [string, Hostile][] = [
  ["breaks the connection", (_, response) => response.destroy()],
  ["redirects", (_, response) => response.writeHead(307, { location: "/elsewhere" }).end()],
  ["wants a sign-in elsewhere", (_, response) => refuse(response, 401)],
  ["sends a page", (_, response) => response.writeHead(200).end("<html>")],
];

test.each(toInitialize)(
  "a server that %s at initialize: the client is told, and has no session",
  async (_, hostile) => {
    const server = await startRawServer(hostile);
    const { url, store } = await serveGateway(server.url);
    await expect(begin(url)).rejects.toThrow(/"error":{"code":-32/);
    expect((await store.list({ limit: 10 })).records).toHaveLength(0);
  },
);

test("a flood of initializes at once gets as many sessions as a principal may have", async () => {
  const server = await startRawServer(() => false);
  const { url } = await serveGateway(server.url, { maxSessions: 5 });
  const begun = await Promise.allSettled(Array.from({ length: 60 }, () => begin(url)));
  const refused = begun.filter(({ status }) => status === "rejected");
  expect(refused).toHaveLength(55);
  expect(String((refused[0] as PromiseRejectedResult).reason)).toContain("429");
  expect(server.seen.filter((method) => method === "initialize")).toHaveLength(5);
});

test("a client that reads slowly slows the server down, and gets all in the end", async () => {
  const partBytes = 65_536;
  const parts = 720;
  let written = 0;
  const params = { progressToken: "t", progress: 1, message: "x".repeat(partBytes) };
  const progress = { jsonrpc: "2.0", method: "notifications/progress", params };
  const server = await startRawServer(async ({ id, method }, response) => {
    if (method !== "tools/call") return false;
    response.writeHead(200, events);
    for (; written < parts; written += 1)
      if (!response.write(`data: ${JSON.stringify(progress)}\n\n`)) await once(response, "drain");
    return response.end(`data: ${answerTo(id)}\n\n`);
  });
  const { url } = await serveGateway(server.url);
  const session = await begin(url);
  const response = await post(url, toolCall(1, "any"), { session });
  let before = -1;
  while (before !== written) {
    before = written;
    await new Promise((resolve) => {
      setTimeout(resolve, 400);
    });
  }
  // The buffers of two sockets and of a few streams, of 47 MB.
  expect(written * partBytes).toBeLessThan(24_000_000);
  const stream = readEvents(response);
  onTestFinished(stream.leave);
  const messages = (await stream.rest()).flatMap(({ message }) => message ?? []);
  expect(messages).toHaveLength(parts + 1);
  expect(messages.at(-1)).toMatchObject({ id: 1, result: { content: [{ text: "fine" }] } });
});
