import { expect, test, vi } from "vitest";
import { listenerWith, listenWith, openSocket, post } from "../../test/edge.ts";
import { listen } from "../../test/listen.ts";
import { maxUnreadBytes, type Reply, type ReplySink, type ReplyStream } from "../base/reply.ts";

const sse = { "Content-Type": "text/event-stream" };
const event = `data: ${"é".repeat(100)}\n\n`;
const get = "GET /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n";

/** A server that answers with the stream, and what a raw client gets of it. */
async function serveStream(body: ReplyStream) {
  const server = await listenWith(() => Promise.resolve({ status: 200, headers: sse, body }));
  const client = await openSocket(server.url);
  client.socket.write(get);
  return {
    ...client,
    [Symbol.asyncDispose]: async () => {
      client.socket.destroy();
      await server[Symbol.asyncDispose]();
    },
  };
}

test.each<[string, Reply["body"]]>([
  ["a text", event],
  [
    "a stream that ends at once",
    (sink) => {
      sink.end(event);
      return () => {};
    },
  ],
  [
    "a stream that ends later with its only text",
    (sink) => {
      setTimeout(() => sink.end(event), 5);
      return () => {};
    },
  ],
])("%s leaves in one packet, with its length", async (_, body) => {
  await using server = await listenWith(() => Promise.resolve({ status: 200, headers: sse, body }));
  const { socket, packets } = await openSocket(server.url);
  socket.write(get);
  await expect.poll(() => packets.length).toBe(1);
  expect(packets[0]).toMatch(/^HTTP\/1\.1 200 OK\r\nContent-Type: text\/event-stream\r\n/);
  expect(packets[0]).toContain(`Content-Length: ${Buffer.byteLength(event)}\r\n`);
  expect(packets[0]?.endsWith(`\r\n\r\n${event}`)).toBe(true);
  socket.destroy();
});

test("a stream's first text leaves with the headers, in the same turn", async () => {
  let sink: ReplySink | undefined;
  await using client = await serveStream((given) => {
    sink = given;
    sink.write("a");
    return () => {};
  });
  await expect.poll(() => client.packets.length).toBe(1);
  expect(client.packets[0]).toContain("\r\n\r\n1\r\na\r\n");
  sink?.write("b");
  sink?.end("c");
  sink?.write("d");
  sink?.end("e");
  await expect.poll(client.text).toContain("1\r\nb\r\n1\r\nc\r\n0\r\n\r\n");
  expect(client.text()).not.toMatch(/\r\n[de]\r\n/);
});

test("a client that leaves is told once, and later writes are dropped", async () => {
  let sink: ReplySink | undefined;
  let leaves = 0;
  await using client = await serveStream((given) => {
    sink = given;
    sink.write("a");
    return () => {
      leaves += 1;
    };
  });
  await expect.poll(client.text).toContain("a");
  client.socket.destroy();
  await expect.poll(() => leaves).toBe(1);
  sink?.write("b");
  sink?.end("c");
  expect(leaves).toBe(1);
});

test("a client that has the whole stream is not told of as one that left", async () => {
  let leaves = 0;
  await using client = await serveStream((sink) => {
    setTimeout(() => sink.end("whole"), 5);
    return () => {
      leaves += 1;
    };
  });
  await expect.poll(client.text).toContain("whole");
  client.socket.destroy();
  await client.closed;
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(leaves).toBe(0);
});

test("a client that left before its answer is told of, and not written to", async () => {
  const left = Promise.withResolvers<void>();
  const told = Promise.withResolvers<void>();
  await using server = await listenWith(async ({ request }) => {
    request.signal.addEventListener("abort", () => left.resolve());
    await left.promise;
    return {
      status: 200,
      headers: sse,
      body: (sink) => {
        sink.write("a");
        return told.resolve;
      },
    };
  });
  const { socket } = await openSocket(server.url);
  socket.write(get);
  await new Promise((resolve) => setTimeout(resolve, 20));
  socket.destroy();
  await expect(told.promise).resolves.toBeUndefined();
});

test("a client that does not read is broken off at the bound", async () => {
  const left = Promise.withResolvers<number>();
  let written = 0;
  await using client = await serveStream((sink) => {
    const timer = setInterval(() => {
      sink.write("x".repeat(0x10_00_00));
      written += 1;
    }, 1);
    return () => {
      clearInterval(timer);
      left.resolve(written);
    };
  });
  client.socket.pause();
  const millions = await left.promise;
  expect(millions * 0x10_00_00).toBeGreaterThan(maxUnreadBytes);
  // The system's own buffers take some more.
  expect(millions * 0x10_00_00).toBeLessThan(4 * maxUnreadBytes);
});

test("a Response of the author's keeps status, headers, cookies and body", async () => {
  await using server = await listenWith(() => {
    const headers = new Headers({ "x-a": "1", "www-authenticate": "Bearer" });
    headers.append("set-cookie", "a=1");
    headers.append("set-cookie", "b=2, c");
    return Promise.resolve(new Response("who?", { status: 401, headers }));
  });
  const response = await fetch(server.url);
  expect([response.status, response.headers.get("www-authenticate")]).toEqual([401, "Bearer"]);
  expect(response.headers.getSetCookie()).toEqual(["a=1", "b=2, c"]);
  expect(await response.text()).toBe("who?");
});

test("a Response's headers do not wait for its body, whose reader is told when the client leaves", async () => {
  const canceled = Promise.withResolvers<void>();
  await using server = await listenWith(() => {
    const body = new ReadableStream({ cancel: () => canceled.resolve() });
    return Promise.resolve(new Response(body, { headers: sse }));
  });
  const { socket, text } = await openSocket(server.url);
  socket.write(get);
  await expect.poll(text).toContain("text/event-stream");
  socket.destroy();
  await expect(canceled.promise).resolves.toBeUndefined();
});

test("a large Response reaches a slow client whole", async () => {
  const chunk = new Uint8Array(0x10_00_00).fill(120);
  let left = 20;
  await using server = await listenWith(() => {
    const body = new ReadableStream({
      pull(controller) {
        if (left === 0) controller.close();
        else controller.enqueue(chunk);
        left -= 1;
      },
    });
    return Promise.resolve(new Response(body));
  });
  const response = await fetch(server.url);
  expect((await response.arrayBuffer()).byteLength).toBe(20 * 0x10_00_00);
});

test.each([
  ["HEAD", 200, "body"],
  ["GET", 204, null],
  ["GET", 304, null],
  ["GET", 200, null],
])("%s with a Response of %i and body %j has none", async (method, status, body) => {
  await using server = await listenWith(() => Promise.resolve(new Response(body, { status })));
  const { socket, text } = await openSocket(server.url);
  const ask = `${method} / HTTP/1.1\r\nHost: localhost\r\n\r\n`;
  socket.write(ask + ask);
  await expect.poll(() => text().match(/HTTP\/1\.1 \d+/g)).toHaveLength(2);
  expect(text()).not.toMatch(/chunked\r\n\r\n\d|body/);
  expect(text().endsWith("\r\n\r\n")).toBe(true);
  socket.destroy();
});

test.each<[string, () => Promise<Reply | Response>]>([
  ["throws", () => Promise.reject(new Error("secret"))],
  [
    "answers with a header that none can carry",
    async () => ({ status: 200, headers: { a: "é\n" } }),
  ],
  [
    "has a stream that throws",
    async () => ({
      status: 200,
      headers: {},
      body: () => {
        throw new Error("secret");
      },
    }),
  ],
  [
    "answers with a used Response",
    async () => {
      const response = new Response("secret");
      await response.text();
      return response;
    },
  ],
])("a handler that %s answers 500, and says why on the console only", async (_, serve) => {
  const said = vi.spyOn(console, "error").mockImplementation(() => {});
  await using server = await listenWith(serve);
  const response = await fetch(server.url, { method: "POST", body: "{}" });
  expect(response.status).toBe(500);
  expect(await response.json()).toEqual({
    jsonrpc: "2.0",
    error: { code: -32603, message: "Internal server error" },
    id: null,
  });
  expect(said).toHaveBeenCalledOnce();
  said.mockRestore();
});

test("a Response whose body fails is broken off, so that nobody takes it for whole", async () => {
  const said = vi.spyOn(console, "error").mockImplementation(() => {});
  let pulls = 0;
  await using server = await listenWith(() => {
    const body = new ReadableStream({
      pull(controller) {
        pulls += 1;
        if (pulls > 1) throw new Error("secret");
        controller.enqueue(new TextEncoder().encode("begun"));
      },
    });
    return Promise.resolve(new Response(body));
  });
  const { socket, text, closed } = await openSocket(server.url);
  socket.write(post("Content-Length: 0\r\n", ""));
  await closed;
  expect(text()).not.toMatch(/secret|0\r\n\r\n$/);
  expect(said).toHaveBeenCalledOnce();
  said.mockRestore();
});

test.each<[string, (leave: () => void) => Reply | Response]>([
  ["a text", () => ({ status: 200, headers: {}, body: "late" })],
  [
    "a stream",
    (leave) => ({ status: 200, headers: {}, body: (sink) => (sink.end("late"), leave) }),
  ],
  ["a Response", (leave) => new Response(new ReadableStream({ cancel: leave }))],
])("%s that comes after another answer is dropped", async (name, answer) => {
  const left = vi.fn<() => void>();
  const listener = listenerWith(() => Promise.resolve(answer(left)));
  await using server = await listen((request, response) => {
    response.end("first");
    listener(request, response);
  });
  expect(await (await fetch(server.url)).text()).toBe("first");
  expect(await (await fetch(server.url)).text()).toBe("first");
  expect(left).toHaveBeenCalledTimes(name === "a text" ? 0 : 2);
});
