import { createServer as createHttpServer } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { runInNewContext } from "node:vm";
import { describe, expect, onTestFinished, test } from "vitest";
import { selfSigned } from "../../test/self-signed.ts";
import { sessionSnapshot, startLostStep, startStep } from "../../test/step.ts";

/** What a server really did. */
interface Faulty {
  readonly url: string;
  /** The requests that arrived whole, each of which may have been carried out. */
  readonly arrived: () => number;
}

async function listen(server: Server, scheme = "http"): Promise<string> {
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  onTestFinished(() => void server.close());
  return `${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
}

/** A server of bare sockets, which says when a whole request has arrived. */
async function startSockets(
  onConnection: (socket: Socket) => void,
  onRequest: (socket: Socket) => void = () => undefined,
): Promise<Faulty> {
  let arrived = 0;
  const server = createServer((socket) => {
    let received = "";
    socket.on("error", () => undefined);
    socket.on("data", (chunk) => {
      received += chunk.toString();
      if (!/\r\n\r\n.*\}$/s.test(received)) return;
      received = "";
      arrived += 1;
      onRequest(socket);
    });
    onTestFinished(() => void socket.destroy());
    onConnection(socket);
  });
  return { url: await listen(server), arrived: () => arrived };
}

async function closedPort(): Promise<Faulty> {
  const server = createServer();
  const url = await listen(server);
  await new Promise((resolve) => {
    server.close(resolve);
  });
  return { url, arrived: () => 0 };
}

async function startTls(): Promise<Faulty> {
  let arrived = 0;
  const server = createHttpsServer(selfSigned, (_, response) => {
    arrived += 1;
    response.end();
  });
  return { url: await listen(server, "https"), arrived: () => arrived };
}

async function startWithoutTls(): Promise<Faulty> {
  let arrived = 0;
  const server = createHttpServer((_, response) => {
    arrived += 1;
    response.end();
  });
  return { url: await listen(server, "https"), arrived: () => arrived };
}

const none = () => undefined;
const rejecting = (reason: unknown) => () => Promise.reject<Response>(reason);
const anywhere = () => Promise.resolve({ url: "http://nothing.invalid/mcp", arrived: () => 0 });

const call = async ({ url }: Faulty, options: Parameters<typeof startStep>[1] = {}) => {
  const { client, slot } = startStep({ url }, { snapshot: sessionSnapshot(url), ...options });
  const failure: unknown = await client.request("tools/call", { name: "buy" }).catch((e) => e);
  expect(slot.changed).toBe(false);
  return failure;
};

describe("a tool call that was never sent is CONNECTION_UNAVAILABLE", () => {
  test.each<[string, () => Promise<Faulty>, string, RegExp]>([
    ["a closed port", closedPort, "refused", /the connection was refused \(ECONNREFUSED\)/],
    ["an unknown host", anywhere, "dns", /the host name could not be resolved \(E\w+\)/],
    ["a self-signed certificate", startTls, "certificate", /\(DEPTH_ZERO_SELF_SIGNED_CERT\)/],
    [
      "a connection that is reset at once",
      () => startSockets((socket) => socket.resetAndDestroy()),
      "reset",
      /\(ECONNRESET\)/,
    ],
    [
      "a port that fetch forbids",
      () => Promise.resolve({ url: "http://127.0.0.1:6000/mcp", arrived: () => 0 }),
      "other",
      /no connection could be made/,
    ],
  ])("%s", async (_, start, reason, words) => {
    const faulty = await start();
    const { origin } = new URL(faulty.url);
    expect(await call(faulty)).toMatchObject({
      code: "CONNECTION_UNAVAILABLE",
      message: expect.stringMatching(words),
      data: { method: "tools/call", origin, reason },
    });
    expect(String(await call(faulty))).toContain("Nothing was sent");
    expect(faulty.arrived()).toBe(0);
  });

  // The OpenSSL of Node 22 does not say whether there was a handshake before.
  test.skipIf(process.versions.node.startsWith("22."))("a server without TLS", async () => {
    const faulty = await startWithoutTls();
    expect(await call(faulty)).toMatchObject({
      code: "CONNECTION_UNAVAILABLE",
      message: expect.stringContaining("no TLS connection could be made (ERR_SSL_WRONG_VERSION"),
      data: { reason: "tls" },
    });
    expect(faulty.arrived()).toBe(0);
  });

  test.each([
    [
      "node-fetch",
      Object.assign(
        new Error("request to http://h/mcp failed, reason: connect ETIMEDOUT 1.1.1.1"),
        {
          name: "FetchError",
          type: "system",
          code: "ETIMEDOUT",
        },
      ),
      "timeout",
    ],
    [
      "Bun",
      Object.assign(new Error("Unable to connect."), { code: "ConnectionRefused" }),
      "refused",
    ],
    [
      "Deno",
      new TypeError("error sending request", {
        cause: new Error("client error (Connect): tcp connect error: Connection refused"),
      }),
      "other",
    ],
    [
      "undici, with a time-out of the connection",
      new TypeError("fetch failed", {
        cause: Object.assign(new Error("x"), { code: "UND_ERR_CONNECT_TIMEOUT" }),
      }),
      "timeout",
    ],
    [
      "Node, of a host with two addresses",
      new TypeError("fetch failed", {
        cause: new AggregateError([
          systemError("connect", "ECONNREFUSED"),
          systemError("connect", "ECONNREFUSED"),
        ]),
      }),
      "refused",
    ],
    [
      "undici, on a socket that has sent nothing",
      new TypeError("fetch failed", {
        cause: Object.assign(new Error("x"), {
          code: "UND_ERR_SOCKET",
          socket: { bytesWritten: 0 },
        }),
      }),
      "reset",
    ],
  ])("as %s says it", async (_, error, reason) => {
    const failure = await call(await closedPort(), { fetch: rejecting(error) });
    expect(failure).toMatchObject({ code: "CONNECTION_UNAVAILABLE", data: { reason } });
  });

  test("and so is any other request, initialize first of all", async () => {
    const { url } = await closedPort();
    const resumed = startStep({ url }, { snapshot: sessionSnapshot(url) }).client;
    await expect(resumed.request("ping")).rejects.toMatchObject(refused("ping"));
    const { client } = startStep({ url });
    for (const method of ["server/discover", "initialize", "ping", "tools/call"]) {
      await expect(client.request(method)).rejects.toMatchObject(refused("initialize"));
    }
  });
});

const refused = (method: string) => ({
  code: "CONNECTION_UNAVAILABLE",
  data: { method, reason: "refused" },
});

const head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 500\r\n";

describe("a tool call on a connection that breaks is OUTCOME_UNKNOWN", () => {
  test.each<[string, (socket: Socket) => void, number]>([
    ["before the answer", (socket) => socket.destroy(), 1],
    ["with something that is not HTTP", (socket) => socket.end("SSH-2.0 OpenSSH\r\n"), 1],
    [
      "in the body of a refusal",
      (socket) => socket.end(`${head.replace("200 OK", "500 No")}\r\n{`),
      1,
    ],
  ])("%s", async (_, onRequest, arrived) => {
    const faulty = await startSockets(none, onRequest);
    const failure = await call(faulty);
    expect(failure).toMatchObject({ code: "OUTCOME_UNKNOWN", data: { method: "tools/call" } });
    expect(String(failure)).toContain("the connection broke before an answer came");
    expect(String(failure)).toContain("Whether the request was carried out is unknown");
    expect(faulty.arrived()).toBe(arrived);
  });

  test.each<[string, () => unknown]>([
    ["a TypeError of another realm", () => runInNewContext("new TypeError('fetch failed')")],
    [
      "an error of node-fetch",
      () =>
        Object.assign(new Error("x"), { name: "FetchError", type: "system", code: "ECONNRESET" }),
    ],
    ["a host that was unreachable in between", () => systemError("read", "EHOSTUNREACH")],
    [
      "one of several addresses that broke",
      () =>
        new AggregateError([
          systemError("connect", "ECONNREFUSED"),
          systemError("read", "ECONNRESET"),
        ]),
    ],
    [
      "a refused connection after one that broke",
      () =>
        Object.assign(systemError("read", "ECONNRESET"), {
          cause: systemError("connect", "ECONNREFUSED"),
        }),
    ],
    [
      "a circle of causes",
      () => {
        const error = new TypeError("fetch failed");
        error.cause = error;
        return error;
      },
    ],
  ])("as it is with %s", async (_, error) => {
    const failure = await call(await closedPort(), { fetch: rejecting(error()) });
    expect(failure).toMatchObject({ code: "OUTCOME_UNKNOWN" });
    expect(String(failure)).toContain("the connection broke before an answer came");
  });

  test("when the base fetch has a time-out of its own", async () => {
    const faulty = await startSockets(none);
    const failure = await call(faulty, {
      fetch: (input, init) => fetch(input, { ...init, signal: AbortSignal.timeout(200) }),
    });
    expect(failure).toMatchObject({ code: "OUTCOME_UNKNOWN", data: { reason: "timeout" } });
    expect(String(failure)).toContain("no answer came in time");
  });

  test("of an earlier attempt, when the next one is not even sent", async () => {
    const { client, server } = await startLostStep({
      recovery: { resend: () => true },
      fetch: (input, init) => (calls > 1 ? fetch("http://127.0.0.1:6000/") : fetch(input, init)),
    });
    let calls = 0;
    server.use(({ message }, response, next) => {
      if (message?.method === "tools/call") {
        calls = 2;
        response.writeHead(400).end("The session has expired.");
      } else next();
    });
    await expect(client.request("tools/call")).rejects.toMatchObject({ code: "OUTCOME_UNKNOWN" });
  });
});

describe("a request that changes nothing", () => {
  test.each(["ping", "tools/list", "resources/read"])(
    "%s on a connection that breaks is CONNECTION_UNAVAILABLE",
    async (method) => {
      const { url } = await startSockets(none, (socket) => socket.destroy());
      const { client } = startStep({ url }, { snapshot: sessionSnapshot(url) });
      await expect(client.request(method)).rejects.toMatchObject({
        code: "CONNECTION_UNAVAILABLE",
        message: expect.stringContaining("the connection broke before an answer came"),
        data: { method, reason: "reset" },
      });
    },
  );

  test("and initialize, of which half an answer comes", async () => {
    const { url } = await startSockets(none, (socket) => socket.end(`${head}\r\n{`));
    const { client } = startStep({ url });
    await expect(client.handshake()).rejects.toMatchObject({
      code: "CONNECTION_UNAVAILABLE",
      data: { method: "initialize", reason: "reset" },
    });
  });
});

describe("says nothing about the connection for", () => {
  test.each([new Error("no token"), systemError("open", "ENOENT"), "text", null])(
    "an error of the application: %s",
    async (error) => {
      expect(await call(await closedPort(), { fetch: rejecting(error) })).toBe(error);
    },
  );

  test("the caller's own abort", async () => {
    const faulty = await startSockets(none);
    const { client } = startStep(faulty, { snapshot: sessionSnapshot(faulty.url) });
    const left = new DOMException("left", "AbortError");
    const failure = client.request("tools/call", {}, { signal: AbortSignal.abort(left) });
    await expect(failure).rejects.toBe(left);
  });
});

test("a message has the origin of a URL: its path and its query may hold a key", async () => {
  const { origin } = new URL((await closedPort()).url);
  const failure = await call({ url: `${origin}/s/secret/mcp?key=secret`, arrived: () => 0 });
  expect(String(failure)).toContain(`tools/call at ${origin}: the connection was refused`);
  expect(String(failure)).not.toContain("secret");
});

test("stateless requests and batches that were never sent are CONNECTION_UNAVAILABLE, too", async () => {
  const { url } = await closedPort();
  const snapshot = { version: 1, kind: "stateless", url, decidedAt: Date.now() } as const;
  const { client } = startStep({ url }, { snapshot });
  await client.request("server/discover").catch(none);
  for (const message of [{ jsonrpc: "2.0", id: 1, method: "tools/call" }, [{ jsonrpc: "2.0" }]]) {
    await expect(client.post(message)).rejects.toMatchObject({
      code: "CONNECTION_UNAVAILABLE",
      data: { reason: "refused" },
    });
  }
});

function systemError(syscall: string, code: string): Error {
  return Object.assign(new Error(`${syscall} ${code}`), { syscall, code });
}
