import type { ServerResponse } from "node:http";
import { gzipSync } from "node:zlib";
import { connectionFailure, wait } from "@durable-mcp/core/internal";
import { getGlobalDispatcher, ProxyAgent, setGlobalDispatcher, fetch as undiciFetch } from "undici";
import { describe, expect, onTestFinished, test } from "vitest";
import { startLoopbackServer } from "../../test/loopback-server.ts";
import type { ResolvedAddress } from "./connect.ts";
import { createGuardedFetch, type GuardOptions } from "./guarded-fetch.ts";

const guardOf = (resource: string, options: Partial<GuardOptions> = {}) =>
  createGuardedFetch({ resource: new URL(resource), ...options });

/** DNS that has these addresses for every name, and notes what it was asked. */
function dnsWith(...addresses: string[]) {
  const asked: string[] = [];
  const resolve = (hostname: string): Promise<ResolvedAddress[]> => {
    asked.push(hostname);
    return Promise.resolve(
      addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 })),
    );
  };
  return { asked, resolve };
}

/** The server does not do TLS, so a connection is all that can come of it. */
async function connects(resource: string, target: string, options: Partial<GuardOptions>) {
  const server = await startLoopbackServer(json({}));
  const guard = guardOf(resource, options);
  const url = `${target}:${server.port}`;
  guard.allow(url);
  const error = await refusalOf(guard.fetch(url));
  expect(server.connections() === 0).toBe(error.data?.reason === "other-origin");
  return server.connections() > 0;
}

const elsewhere = { code: "CONNECTION_UNAVAILABLE", data: { reason: "other-origin" } };

/** The error of a request, which has neither path nor query in it. */
async function refusalOf(sending: Promise<Response>) {
  const error = await sending.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(Error);
  expect(JSON.stringify([error, (error as Error).message])).not.toContain("secret");
  return error as Error & { code: string; data?: { reason?: string } };
}

const json = (value: unknown) => (_: unknown, response: ServerResponse) => {
  response.setHeader("content-type", "application/json").end(JSON.stringify(value));
};

describe("on loopback", () => {
  test.each(["127.0.0.1", "::1"])("asks the server's own origin on %s", async (host) => {
    const server = await startLoopbackServer(json({ ok: true }), host);
    const response = await guardOf(`${server.origin}/mcp`).fetch(`${server.origin}/metadata`);
    expect(response).toBeInstanceOf(Response);
    expect(await response.json()).toEqual({ ok: true });
  });

  test.each(["localhost", "localhost.", "login.localhost"])("and by the name %s", async (name) => {
    const server = await startLoopbackServer(json({ ok: true }));
    const origin = `http://${name}:${server.port}`;
    const { resolve, asked } = dnsWith("127.0.0.1");
    const guard = guardOf("http://localhost:1/mcp", { resolve });
    guard.allow(origin);
    expect((await guard.fetch(`${origin}/token`, { method: "POST", body: "a=b" })).ok).toBe(true);
    expect(asked).toEqual([name]);
  });

  test("sends what it is given, as a string, a URL or a Request", async () => {
    const bodies: string[] = [];
    const server = await startLoopbackServer((request, response) => {
      request.setEncoding("utf8").on("data", (part: string) => bodies.push(part));
      request.on("end", () => response.end());
    });
    const { fetch } = guardOf(server.origin);
    const url = `${server.origin}/token`;
    const init = { method: "POST", headers: { accept: "application/json" } };
    await fetch(url, { ...init, body: new URLSearchParams({ code: "1" }) });
    await fetch(new URL(url), { ...init, body: "code=2" });
    await fetch(new Request(url, { ...init, body: new URLSearchParams({ code: "3" }) }));
    expect(bodies).toEqual(["code=1", "code=2", "code=3"]);
    expect(server.requests.map(({ headers }) => headers.accept)).toEqual(
      Array(3).fill("application/json"),
    );
    expect(server.requests[0]?.headers["content-type"]).toMatch("x-www-form-urlencoded");
  });
});

describe("refuses, before it connects,", () => {
  test.each([
    ["another origin", "https://mcp.example/mcp", "https://other.example"],
    ["another port of the same host", "https://mcp.example/mcp", "https://mcp.example:8443"],
  ])("%s", async (_, resource, target) => {
    const { resolve, asked } = dnsWith("127.0.0.1");
    const guard = guardOf(resource, { resolve });
    const error = await refusalOf(guard.fetch(`${target}/secret?secret`));
    expect(error).toMatchObject({
      code: "CONNECTION_UNAVAILABLE",
      data: { reason: "other-origin", method: "GET", origin: target },
    });
    expect(asked).toEqual([]);
  });

  test.each([
    ["http", "https://mcp.example/mcp", "http://login.example"],
    ["http on this computer, for another one's server", "https://10.0.0.1/mcp", "http://localhost"],
    ["a loopback address", "https://mcp.example/mcp", "https://127.0.0.1"],
    ["localhost", "https://mcp.example/mcp", "https://localhost."],
    ["a private address", "https://mcp.example/mcp", "https://192.168.0.1"],
    ["a private name", "https://mcp.example/mcp", "https://keycloak"],
    ["a link-local address", "https://127.0.0.1/mcp", "https://169.254.169.254"],
  ])("%s", async (_, resource, target) => {
    const guard = guardOf(resource);
    guard.allow(target);
    const error = await refusalOf(guard.fetch(`${target}/secret?secret`));
    const { origin } = new URL(target);
    expect(error).toMatchObject({
      code: "CONNECTION_UNAVAILABLE",
      data: { reason: "other-origin", origin },
    });
  });

  test.each(["data:,secret", "file:///secret", "secret", "ftp://a.example/secret"])(
    "what is no http(s) URL: %s",
    async (target) => {
      const guard = guardOf("https://mcp.example/mcp");
      guard.allow(target);
      guard.allow("data:,other");
      expect(await refusalOf(guard.fetch(target))).toMatchObject(elsewhere);
    },
  );

  test("a URL with credentials", async () => {
    const guard = guardOf("https://mcp.example/mcp");
    const error = await refusalOf(guard.fetch("https://secret:secret@mcp.example/"));
    expect(error).toMatchObject(elsewhere);
  });
});

describe("refuses, when it connects,", () => {
  test.each([
    ["a private address", ["10.0.0.1"]],
    ["a link-local address", ["169.254.169.254"]],
    ["one private address of several", ["93.184.216.34", "192.168.0.1"]],
  ])("a public name with %s", async (_, addresses) => {
    const server = await startLoopbackServer(json({}));
    const { resolve, asked } = dnsWith(...addresses);
    const guard = guardOf("https://mcp.example/mcp", { resolve });
    const url = `https://login.example:${server.port}`;
    guard.allow(url);
    const error = await refusalOf(guard.fetch(`${url}/secret`, { method: "POST", body: "secret" }));
    expect(error).toMatchObject({
      code: "CONNECTION_UNAVAILABLE",
      data: { reason: "other-origin", method: "POST", origin: url },
    });
    expect(asked).toEqual(["login.example"]);
    expect(server.connections()).toBe(0);
  });

  test("a name of this computer that means another one", async () => {
    const { resolve } = dnsWith("127.0.0.1", "10.0.0.1");
    const error = await refusalOf(
      guardOf("http://a.localhost/mcp", { resolve }).fetch("http://a.localhost"),
    );
    expect(error).toMatchObject({
      code: "CONNECTION_UNAVAILABLE",
      data: { reason: "other-origin", origin: "http://a.localhost" },
    });
  });
});

describe("connects to what it has checked:", () => {
  test("asks DNS once a request, and each request has a connection of its own", async () => {
    const server = await startLoopbackServer(json({ ok: true }));
    const { resolve, asked } = dnsWith("127.0.0.1");
    const origin = `http://a.localhost:${server.port}`;
    const { fetch } = guardOf(origin, { resolve });
    await fetch(origin);
    await wait(20); // A connection that is kept is free by now.
    await fetch(origin);
    expect(asked).toHaveLength(2);
    expect(server.connections()).toBe(2);
  });

  test("a name that DNS moves to a private address is refused", async () => {
    const server = await startLoopbackServer(json({ ok: true }));
    const answers = ["127.0.0.1", "10.0.0.1"];
    const resolve = () => Promise.resolve([{ address: answers.shift() ?? "", family: 4 }]);
    const origin = `http://a.localhost:${server.port}`;
    const { fetch } = guardOf(origin, { resolve });
    expect((await fetch(origin)).ok).toBe(true);
    expect(await refusalOf(fetch(origin))).toMatchObject(elsewhere);
    expect(server.connections()).toBe(1);
  });

  test("a name without an address was never sent to", async () => {
    const { fetch } = guardOf("http://a.localhost", { resolve: dnsWith().resolve });
    const error = await refusalOf(fetch("http://a.localhost"));
    expect(connectionFailure(error)).toMatchObject({ sent: "never", reason: "dns" });
  });

  test("proxies of the process are not used", async () => {
    const proxy = await startLoopbackServer(json({ proxied: true }));
    const server = await startLoopbackServer(json({ proxied: false }));
    const before = getGlobalDispatcher();
    setGlobalDispatcher(new ProxyAgent({ uri: proxy.origin, proxyTunnel: false }));
    onTestFinished(() => setGlobalDispatcher(before));
    const url = `${server.origin}/metadata`;
    expect(await (await undiciFetch(url)).json()).toEqual({ proxied: true });
    expect(await (await guardOf(url).fetch(url)).json()).toEqual({ proxied: false });
  });
});

describe("private addresses", () => {
  const { resolve } = dnsWith("127.0.0.1");

  test.each([
    ["by a public name", "https://mcp.example/mcp", "https://login.example", false],
    ["by a private name", "https://mcp.internal/mcp", "https://keycloak", false],
    ["for a server on this computer", "http://localhost/mcp", "https://login.example", true],
    ["for a server of the network", "https://10.0.0.1/mcp", "https://login.example", false],
  ])("%s, without the option", async (_, resource, target, connected) => {
    expect(await connects(resource, target, { resolve })).toBe(connected);
  });

  test.each([
    ["by a public name", "https://mcp.example/mcp", "https://login.example"],
    ["by a private name", "https://mcp.internal/mcp", "https://keycloak"],
    ["as they are", "https://mcp.example/mcp", "https://127.0.0.1"],
  ])("%s, with it", async (_, resource, target) => {
    expect(await connects(resource, target, { resolve, allowPrivateAddresses: true })).toBe(true);
  });

  test("link-local ones are refused with it, too", async () => {
    const { resolve: resolveSeveral } = dnsWith("127.0.0.1", "169.254.169.254");
    const options = { allowPrivateAddresses: true, resolve: resolveSeveral };
    const guard = guardOf("https://mcp.example/mcp", options);
    for (const url of ["https://login.example", "https://169.254.169.254"]) {
      guard.allow(url);
      expect(await refusalOf(guard.fetch(url))).toMatchObject(elsewhere);
    }
  });

  test("and so is http, except for a server on this computer", async () => {
    const server = await startLoopbackServer(json({}));
    const guard = guardOf("https://mcp.example/mcp", { allowPrivateAddresses: true });
    for (const url of ["http://10.0.0.1", server.origin]) {
      guard.allow(url);
      expect(await refusalOf(guard.fetch(url))).toMatchObject(elsewhere);
    }
    expect(server.connections()).toBe(0);
  });

  test("a server of the network may name others of it by address", async () => {
    const asked: unknown[] = [];
    const fetch: typeof globalThis.fetch = (url) => {
      asked.push(url);
      return Promise.resolve(new Response());
    };
    const guard = guardOf("https://10.0.0.1/mcp", { fetch });
    guard.allow("https://10.0.0.2");
    await guard.fetch("https://10.0.0.2/token");
    expect(asked).toEqual(["https://10.0.0.2/token"]);
  });
});

test("a fetch of the application gets plain values, and sends no cookies", async () => {
  const calls: Parameters<typeof globalThis.fetch>[] = [];
  const guard = guardOf("https://mcp.example/mcp", {
    fetch: (...call) => {
      calls.push(call);
      return Promise.resolve(new Response());
    },
  });
  const headers = { accept: "application/json" };
  await guard.fetch(new Request("https://mcp.example/token", { method: "POST", headers }));
  expect(calls).toEqual([
    [
      "https://mcp.example/token",
      expect.objectContaining({
        method: "POST",
        headers: [["accept", "application/json"]],
        redirect: "manual",
        credentials: "omit",
      }),
    ],
  ]);
});

describe("answers:", () => {
  test.each([301, 302, 303, 307, 308])("a redirect with %i is not followed", async (status) => {
    const other = await startLoopbackServer(json({}));
    const server = await startLoopbackServer((_, response) => {
      response.writeHead(status, { location: `${other.origin}/secret?secret` }).end("secret");
    });
    const guard = guardOf(server.origin);
    guard.allow(other.origin);
    const error = await refusalOf(guard.fetch(server.origin, { method: "POST", body: "secret" }));
    expect(error).toMatchObject({
      code: "CONNECTION_UNAVAILABLE",
      data: { reason: "redirect", status },
    });
    expect(error.message).toContain(other.origin);
    expect(other.requests).toEqual([]);
  });

  test("a redirect that the application's fetch followed is refused", async () => {
    const server = await startLoopbackServer((request, response) => {
      const headers = request.url === "/" ? { location: "/secret" } : {};
      response.writeHead(request.url === "/" ? 302 : 200, headers).end();
    });
    const guard = guardOf(server.origin, {
      fetch: (url, init) => fetch(url, { ...init, redirect: "follow" }),
    });
    const error = await refusalOf(guard.fetch(server.origin));
    expect(error).toMatchObject({ code: "CONNECTION_UNAVAILABLE", data: { reason: "redirect" } });
  });

  test("one of 1 MiB is read, a larger one and an endless one are not", async () => {
    const closed = Promise.withResolvers<void>();
    const server = await startLoopbackServer((request, response) => {
      if (request.url === "/whole") return response.end(Buffer.alloc(2 ** 20));
      if (request.url === "/large") return response.end(Buffer.alloc(2 ** 20 + 1));
      const send = () => {
        while (response.write(Buffer.alloc(2 ** 16)));
      };
      response.on("drain", send).on("close", closed.resolve);
      return send();
    });
    const { fetch } = guardOf(server.origin);
    const whole = await fetch(`${server.origin}/whole`);
    expect((await whole.arrayBuffer()).byteLength).toBe(2 ** 20);
    for (const path of ["/large", "/endless"]) {
      const error = await refusalOf(fetch(server.origin + path));
      expect(error).toMatchObject({ code: "CONNECTION_UNAVAILABLE", data: { status: 200 } });
    }
    await closed.promise;
  });

  test("a compressed one is read, and counts by what comes out", async () => {
    const server = await startLoopbackServer((request, response) => {
      response.setHeader("content-encoding", "gzip");
      response.end(gzipSync(request.url === "/bomb" ? Buffer.alloc(2 ** 26) : '{"ok":true}'));
    });
    const { fetch } = guardOf(server.origin);
    const response = await fetch(server.origin);
    expect(response.headers.has("content-encoding")).toBe(false);
    expect(await response.json()).toEqual({ ok: true });
    const error = await refusalOf(fetch(`${server.origin}/bomb`));
    expect(error).toMatchObject({ code: "CONNECTION_UNAVAILABLE" });
  });

  test("cookies are neither kept nor shown", async () => {
    const server = await startLoopbackServer((_, response) => {
      response.setHeader("set-cookie", ["a=1", "b=2"]).setHeader("x-other", "1").end();
    });
    const { fetch } = guardOf(server.origin);
    const { headers } = await fetch(server.origin);
    expect(headers.get("set-cookie")).toBeNull();
    expect(headers.get("x-other")).toBe("1");
    await fetch(server.origin);
    expect(server.requests[1]?.headers.cookie).toBeUndefined();
  });

  test.each([204, 400, 503])("a status passes: %i", async (status) => {
    const server = await startLoopbackServer((_, response) => response.writeHead(status).end());
    expect((await guardOf(server.origin).fetch(server.origin)).status).toBe(status);
  });

  test("a status that HTTP does not have", async () => {
    const server = await startLoopbackServer((_, response) => response.writeHead(999).end());
    const error = await refusalOf(guardOf(server.origin).fetch(server.origin));
    expect(error).toMatchObject({ code: "CONNECTION_UNAVAILABLE", data: { status: 999 } });
  });

  test.each(["/silent", "/started"])("one that does not end takes too long: %s", async (path) => {
    const server = await startLoopbackServer((request, response) => {
      if (request.url === "/started") response.write("{");
    });
    const { fetch } = guardOf(server.origin, { timeoutMs: 50 });
    const error = await refusalOf(fetch(server.origin + path));
    expect(error.name).toBe("TimeoutError");
    expect(connectionFailure(error)).toMatchObject({ sent: "perhaps", reason: "timeout" });
  });

  test("the caller's abort ends it, with the caller's reason", async () => {
    const controller = new AbortController();
    const server = await startLoopbackServer(() => controller.abort(new Error("enough")));
    const sending = guardOf(server.origin).fetch(server.origin, { signal: controller.signal });
    expect(await refusalOf(sending)).toBe(controller.signal.reason);
  });

  test("one that comes after the abort is let go, if the fetch ignores signals", async () => {
    const late = Promise.withResolvers<Response>();
    const cancelled = Promise.withResolvers<void>();
    const guard = guardOf("https://mcp.example", { timeoutMs: 10, fetch: () => late.promise });
    expect((await refusalOf(guard.fetch("https://mcp.example"))).name).toBe("TimeoutError");
    late.resolve(new Response(new ReadableStream({ cancel: () => cancelled.resolve() })));
    await cancelled.promise;
  });
});
