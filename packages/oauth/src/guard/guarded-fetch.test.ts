import type { ServerResponse } from "node:http";
import { describe, expect, test } from "vitest";
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

/** The error of a request, which has neither path nor query in it. */
async function refusalOf(sending: Promise<Response>) {
  const error = await sending.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(Error);
  expect(JSON.stringify([error, (error as Error).message])).not.toContain("secret");
  return error as Error & { code: string; data: { origin?: string } };
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
      code: "FETCH_REQUIRED",
      data: { method: "GET", origin: target },
    });
    expect(asked).toEqual([]);
  });

  test.each([
    ["http", "https://mcp.example/mcp", "http://login.example"],
    ["http of a private address", "http://127.0.0.1/mcp", "http://10.0.0.1"],
    ["http on this computer, for another one's server", "https://10.0.0.1/mcp", "http://localhost"],
    ["a loopback address", "https://mcp.example/mcp", "https://127.0.0.1"],
    ["localhost", "https://mcp.example/mcp", "https://localhost."],
    ["this computer, for a server of the network", "https://10.0.0.1/mcp", "https://[::1]"],
    ["a private address", "https://mcp.example/mcp", "https://192.168.0.1"],
    ["a private address in other words", "https://mcp.example/mcp", "https://0xa000001"],
    ["a private address in IPv6", "https://mcp.example/mcp", "https://[::ffff:a00:1]"],
    ["a private name", "https://mcp.example/mcp", "https://keycloak"],
    ["a link-local address", "https://127.0.0.1/mcp", "https://169.254.169.254"],
    ["an unspecified address", "https://127.0.0.1/mcp", "https://0.0.0.0"],
  ])("%s", async (_, resource, target) => {
    const guard = guardOf(resource);
    guard.allow(target);
    const error = await refusalOf(guard.fetch(`${target}/secret?secret`));
    const { origin } = new URL(target);
    expect(error).toMatchObject({ code: "FETCH_REQUIRED", data: { origin } });
  });

  test.each(["data:,secret", "file:///secret", "secret", "ftp://a.example/secret"])(
    "what is no http(s) URL: %s",
    async (target) => {
      const guard = guardOf("https://mcp.example/mcp");
      guard.allow(target);
      guard.allow("data:,other");
      expect(await refusalOf(guard.fetch(target))).toMatchObject({ code: "FETCH_REQUIRED" });
    },
  );

  test("a URL with credentials", async () => {
    const guard = guardOf("https://mcp.example/mcp");
    const error = await refusalOf(guard.fetch("https://secret:secret@mcp.example/"));
    expect(error).toMatchObject({ code: "FETCH_REQUIRED" });
  });
});

describe("refuses, when it connects,", () => {
  test.each([
    ["a private address", ["10.0.0.1"]],
    ["this computer", ["127.0.0.1"]],
    ["a link-local address", ["169.254.169.254"]],
    ["one private address of several", ["93.184.216.34", "192.168.0.1"]],
    ["a private address in IPv6", ["::ffff:10.0.0.1"]],
  ])("a public name with %s", async (_, addresses) => {
    const server = await startLoopbackServer(json({}));
    const { resolve, asked } = dnsWith(...addresses);
    const guard = guardOf("https://mcp.example/mcp", { resolve });
    const url = `https://login.example:${server.port}`;
    guard.allow(url);
    const error = await refusalOf(guard.fetch(`${url}/secret`, { method: "POST", body: "secret" }));
    expect(error).toMatchObject({ code: "FETCH_REQUIRED", data: { method: "POST", origin: url } });
    expect(asked).toEqual(["login.example"]);
    expect(server.connections()).toBe(0);
  });

  test("a name of this computer that means another one", async () => {
    const { resolve } = dnsWith("127.0.0.1", "10.0.0.1");
    const error = await refusalOf(
      guardOf("http://a.localhost/mcp", { resolve }).fetch("http://a.localhost"),
    );
    expect(error).toMatchObject({ code: "FETCH_REQUIRED", data: { origin: "http://a.localhost" } });
  });
});
