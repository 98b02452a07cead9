import { connect as connectHttp2, createServer as createHttp2Server } from "node:http2";
import type { AddressInfo } from "node:net";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { listenerWith, listenWith, openSocket, post } from "../../test/edge.ts";
import { listen } from "../../test/listen.ts";
import type { ServedRequest } from "../base/served-request.ts";

const json = (value: unknown) => ({ status: 200, headers: {}, body: JSON.stringify(value) });

async function echo(request: ServedRequest) {
  const text = await request.readBody(100);
  return text === undefined ? { status: 413, headers: {}, body: "too long" } : json(text);
}

test("reads bodies in one piece and in several, and empty ones", async () => {
  await using server = await listenWith(echo);
  const { socket, text } = await openSocket(server.url);
  socket.write(post("Content-Length: 5\r\n", "one"));
  await new Promise((resolve) => setTimeout(resolve, 10));
  socket.write(`é${post("Transfer-Encoding: chunked\r\n", "3\r\ntwo\r\n")}`);
  await new Promise((resolve) => setTimeout(resolve, 10));
  socket.write(`1\r\n!\r\n0\r\n\r\n${post("", "")}`);
  await expect.poll(() => text().match(/"[^"\r]*"(?=HTTP|$)/g)).toEqual(['"oneé"', '"two!"', '""']);
  socket.destroy();
});

test("decodes as the web does: marks, broken bytes, characters across pieces", async () => {
  let bytes = new Uint8Array();
  let seen: string | undefined;
  await using server = await listenWith(async (request) => {
    seen = await request.readBody(1_000);
    return { status: 202, headers: {} };
  });
  const special = fc.constantFrom(
    [0xef, 0xbb, 0xbf],
    [0xf0, 0x9f],
    [0x98, 0x80],
    [0xed, 0xa0, 0x80],
  );
  const part = fc.oneof(special, fc.array(fc.nat(255), { maxLength: 4 }));
  const body = fc.array(part, { maxLength: 6 }).map((parts) => new Uint8Array(parts.flat()));
  await fc.assert(
    fc.asyncProperty(body, async (generated) => {
      bytes = generated;
      await fetch(server.url, { method: "POST", body: bytes });
      expect(seen).toBe(new TextDecoder().decode(bytes));
    }),
    { numRuns: 200 },
  );
});

test.each([
  ["with its length", "Content-Length: 101\r\n", "x".repeat(101)],
  ["in pieces", "Transfer-Encoding: chunked\r\n", `65\r\n${"x".repeat(101)}\r\n0\r\n\r\n`],
])("a body that is too long, %s, is refused and the connection goes on", async (_, head, body) => {
  await using server = await listenWith(echo);
  const { socket, text } = await openSocket(server.url);
  socket.write(post(head, body));
  await expect.poll(text).toContain("413");
  socket.write(post("Content-Length: 2\r\n", "ok"));
  await expect.poll(text).toContain('"ok"');
  socket.destroy();
});

test("a client that never stops sending loses its connection", async () => {
  await using server = await listenWith(echo);
  const { socket, closed, text } = await openSocket(server.url);
  socket.write(post("Transfer-Encoding: chunked\r\n", ""));
  const chunk = `100000\r\n${"x".repeat(0x10_00_00)}\r\n`;
  let sent = 0;
  const send = () => {
    while (!socket.destroyed && sent < 200) {
      sent += 1;
      if (!socket.write(chunk)) return;
    }
  };
  socket.on("drain", send);
  send();
  await closed;
  expect(sent).toBeLessThan(100);
  expect(text()).toContain("413");
});

test("a client that leaves in the middle of its body ends the reading", async () => {
  const outcome = Promise.withResolvers<unknown>();
  await using server = await listenWith(async (request) => {
    const body = request.readBody(100);
    body.then(outcome.resolve, outcome.resolve);
    return json(await body);
  });
  const { socket } = await openSocket(server.url);
  socket.write(post("Content-Length: 50\r\n", "half"));
  await new Promise((resolve) => setTimeout(resolve, 20));
  socket.destroy();
  expect(await outcome.promise).toMatchObject({ name: "BodyNotRead" });
});

test("a body that was read in front, and left nowhere, is an error and no waiting", async () => {
  const outcome = Promise.withResolvers<unknown>();
  const serve = listenerWith(async (request) => {
    outcome.resolve(await request.readBody(100).catch((error: unknown) => error));
    return { status: 202, headers: {} };
  });
  await using server = await listen((request, response) => {
    request.resume().on("end", () => serve(request, response));
  });
  await fetch(server.url, { method: "POST", body: "{}" });
  expect(String(await outcome.promise)).toContain("request.body");
});

test.each([
  ["an object", { a: [1] }, '{"a":[1]}'],
  ["a text", '{"a":1}', '{"a":1}'],
  ["bytes", Buffer.from('{"a":"é"}'), '{"a":"é"}'],
  ["null", null, "null"],
])("takes %s that a parser in front has left, also beyond the bound", async (_, body, expected) => {
  const serve = listenerWith(async (request) => {
    const read = [await request.readBody(100), await request.request.text()];
    return json([...read, await request.readBody(1)]);
  });
  await using server = await listen((request, response) => {
    request.resume().on("end", () => serve(Object.assign(request, { body }), response));
  });
  const response = await fetch(server.url, { method: "POST", body: "{}" });
  expect(await response.json()).toEqual([expected, expected, null]);
});

describe("headers", () => {
  const asked =
    "Host: a\r\nHOST: b\r\nOrigin: http://a\r\nOrigin: http://b\r\nAccept: x\r\naccept: y";

  test("that come several times are joined, none is dropped", async () => {
    await using server = await listenWith((request) => {
      const names = ["host", "origin", "accept", "constructor", "mcp-session-id"];
      return Promise.resolve(json(names.map((name) => request.header(name))));
    });
    const { socket, text } = await openSocket(server.url);
    socket.write(`GET /mcp HTTP/1.1\r\n${asked}\r\n\r\n`);
    await expect
      .poll(text)
      .toContain(JSON.stringify(["a, b", "http://a, http://b", "x, y", null, null]));
    socket.destroy();
  });
});

describe("the author's Request", () => {
  test("is a true one, made once, with method, URL and headers", async () => {
    await using server = await listenWith((served) => {
      expect(served.request).toBe(served.request);
      const { method, url, headers } = new Request(served.request);
      return Promise.resolve(json([method, new URL(url).pathname, headers.get("x-a")]));
    });
    const response = await fetch(`${server.url}/%41?b=c`, {
      method: "DELETE",
      headers: { "x-a": "1" },
    });
    expect(await response.json()).toEqual(["DELETE", "/mcp/%41", "1"]);
  });

  test.each(["before", "after"])("has the body, read %s the handler reads it", async (order) => {
    await using server = await listenWith(async (served) => {
      const early = served.request;
      const first = order === "before" ? await early.text() : await served.readBody(100);
      const second = order === "before" ? await served.readBody(100) : await early.text();
      return json([first, second, await served.request.text()]);
    });
    const response = await fetch(server.url, { method: "POST", body: "{é}" });
    expect(await response.json()).toEqual(["{é}", "{é}", "{é}"]);
  });

  test("takes its host from Host, not from the target", async () => {
    await using server = await listenWith(({ request }) => Promise.resolve(json(request.url)));
    const { socket, text } = await openSocket(server.url);
    const targets = ["http://evil.com/a?b", "//evil.com/c", "*", "/d\\e"];
    for (const target of targets)
      socket.write(`OPTIONS ${target} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    const paths = ["/a?b", "//evil.com/c", "/", "/d/e"].map((path) => `"http://localhost${path}"`);
    for (const path of paths) await expect.poll(text).toContain(path);
    expect(text()).not.toContain("//evil.com/a");
    socket.destroy();
  });

  test("aborts when the client leaves, and not after a whole answer", async () => {
    const aborted = Promise.withResolvers<void>();
    let signal: AbortSignal | undefined;
    let isFirst = true;
    await using server = await listenWith(async ({ request }) => {
      signal = request.signal;
      if (!isFirst) return { status: 202, headers: {} };
      isFirst = false;
      request.signal.addEventListener("abort", () => aborted.resolve());
      await aborted.promise;
      return { status: 202, headers: {} };
    });
    const { socket } = await openSocket(server.url);
    socket.write(post("Content-Length: 0\r\n", ""));
    await expect.poll(() => signal).toBeDefined();
    socket.destroy();
    await aborted.promise;
    await fetch(server.url, { headers: { connection: "close" } });
    expect(signal?.aborted).toBe(false);
  });
});

test("serves HTTP/2 requests of Node's compatibility layer", async () => {
  const serve = listenerWith(async (served) =>
    json([served.header("host"), new URL(served.request.url).host, await served.readBody(100)]),
  );
  const server = createHttp2Server(serve as never).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.on("listening", resolve));
  const host = `localhost:${(server.address() as AddressInfo).port}`;
  const client = connectHttp2(`http://${host}`);
  const stream = client.request({ ":method": "POST", ":path": "/mcp" });
  let text = "";
  stream.setEncoding("utf8").on("data", (data: string) => {
    text += data;
  });
  stream.end("{}");
  await new Promise((resolve) => stream.on("close", resolve));
  client.close();
  server.close();
  expect(JSON.parse(text)).toEqual([host, host, "{}"]);
});
