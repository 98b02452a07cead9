import { expect, test } from "vitest";
import {
  type Answer,
  cut,
  endless,
  huge,
  startAnsweringServer,
  status,
} from "../../test/answering-server.ts";
import { createGuardedFetch } from "../guard/guarded-fetch.ts";
import { discover, type Discovery } from "./discover.ts";

const resourcePath = "/.well-known/oauth-protected-resource/mcp";
const serverPath = "/.well-known/oauth-authorization-server";
const openIdPath = "/.well-known/openid-configuration";

/** An MCP server at `/mcp` that is its own authorization server, at `/`. */
function metadata(issuer: string, more = {}) {
  return {
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    code_challenge_methods_supported: ["S256"],
    ...more,
  };
}

function resource(origin: string, more = {}) {
  return { resource: `${origin}/mcp`, authorization_servers: [origin], ...more };
}

function find(origin: string, options: Partial<Discovery> = {}, timeoutMs = 5_000) {
  const url = new URL(`${origin}/mcp`);
  const guard = createGuardedFetch({ resource: url, timeoutMs });
  return discover({ url, guard, mayUse: () => true, ...options });
}

test("the resource's metadata is looked for at its path, then at the root", async () => {
  const server = await startAnsweringServer((origin) => ({
    "/.well-known/oauth-protected-resource": resource(origin, { resource: origin }),
    [serverPath]: metadata(origin),
  }));
  expect(await find(server.origin)).toMatchObject({
    server: metadata(server.origin),
    resource: server.origin,
  });
  expect(server.paths()).toEqual([
    resourcePath,
    "/.well-known/oauth-protected-resource",
    serverPath,
  ]);
});

test("the challenge's URL is asked for the resource's metadata, and no other", async () => {
  const server = await startAnsweringServer((origin) => ({
    "/custom/metadata.json": resource(origin, { scopes_supported: ["notes:read"] }),
    [serverPath]: metadata(origin),
  }));
  const resourceMetadata = `${server.origin}/custom/metadata.json`;
  expect(await find(server.origin, { resourceMetadata })).toMatchObject({
    scopesSupported: ["notes:read"],
  });
  expect(server.paths()).toEqual(["/custom/metadata.json", serverPath]);
  await expect(
    find(server.origin, { resourceMetadata: `${server.origin}/gone` }),
  ).rejects.toMatchObject({
    code: "CONNECTION_UNAVAILABLE",
    message: expect.stringContaining(`GET at ${server.origin}: `),
  });
  expect(server.paths().slice(2)).toEqual(["/gone"]);
});

test.each([
  ["not a URL", "other"],
  ["http://127.0.0.2:1/metadata", "other-origin"],
  ["http://169.254.169.254/latest", "other-origin"],
  ["file:///etc/passwd", "other-origin"],
])("a challenge that names %s is refused", async (resourceMetadata, reason) => {
  const server = await startAnsweringServer(() => ({}));
  await expect(find(server.origin, { resourceMetadata })).rejects.toMatchObject({
    code: "CONNECTION_UNAVAILABLE",
    data: { reason },
  });
  expect(server.paths()).toEqual([]);
});

test("an issuer with a path has three places for its metadata", async () => {
  const server = await startAnsweringServer((origin) => ({
    [resourcePath]: resource(origin, { authorization_servers: [`${origin}/tenant1`] }),
    "/tenant1/.well-known/openid-configuration": metadata(`${origin}/tenant1`),
  }));
  expect((await find(server.origin)).server.issuer).toBe(`${server.origin}/tenant1`);
  expect(server.paths().slice(1)).toEqual([
    `${serverPath}/tenant1`,
    `${openIdPath}/tenant1`,
    "/tenant1/.well-known/openid-configuration",
  ]);
});

test("an issuer without a path has two", async () => {
  const server = await startAnsweringServer((origin) => ({
    [resourcePath]: resource(origin),
    [openIdPath]: metadata(origin),
  }));
  expect((await find(server.origin)).server).toEqual(metadata(server.origin));
  expect(server.paths().slice(1)).toEqual([serverPath, openIdPath]);
});

test("what the metadata says beyond a sign-in is not kept, nor what is null", async () => {
  const server = await startAnsweringServer((origin) => ({
    [resourcePath]: resource(origin, { scopes_supported: null }),
    [serverPath]: metadata(origin, { jwks_uri: `${origin}/jwks`, registration_endpoint: null }),
  }));
  expect(await find(server.origin)).toEqual({
    server: metadata(server.origin),
    resource: `${server.origin}/mcp`,
    scopesSupported: undefined,
    takesProofs: false,
  });
});

test("of several issuers the first counts that may be used, and no other is asked", async () => {
  const others = await startAnsweringServer(() => ({}));
  const server = await startAnsweringServer((origin) => ({
    [resourcePath]: resource(origin, {
      authorization_servers: ["no URL", `${origin}/?query`, others.origin, origin],
    }),
    [serverPath]: metadata(origin),
  }));
  const mayUse = (issuer: URL) => issuer.origin !== others.origin;
  expect((await find(server.origin, { mayUse })).server.issuer).toBe(server.origin);
  expect(others.paths()).toEqual([]);
  await expect(find(server.origin, { mayUse: () => false })).rejects.toMatchObject({
    code: "CONNECTION_UNAVAILABLE",
    message: expect.stringMatching(/none of its authorization servers may be used.*allowIssuers/),
  });
  expect(others.paths()).toEqual([]);
});

test.each([
  ["another issuer", (origin: string) => `${origin}/other`],
  ["a foreign issuer", () => "https://honest.example"],
  ["the issuer with a slash", (origin: string) => `${origin}/`],
  ["the issuer in capitals", (origin: string) => origin.toUpperCase()],
])("metadata of %s is not used", async (_, wrong) => {
  const server = await startAnsweringServer((origin) => ({
    [resourcePath]: resource(origin),
    [serverPath]: metadata(origin, { issuer: wrong(origin) }),
    [openIdPath]: metadata(origin),
  }));
  await expect(find(server.origin)).rejects.toThrow(/`issuer` is not, letter by letter/);
  expect(server.paths()).not.toContain(openIdPath);
});

test.each([
  ["https://evil.example/mcp", /for another server/],
  ["http://127.0.0.1:1/mcp", /for another server/],
  ["ORIGIN/mc", /for another server/],
  ["ORIGIN/mcp/deeper", /for another server/],
  ["ORIGIN/mcp?tenant=1", /for another server/],
  ["ORIGIN/mcp#fragment", /for another server/],
  [7, /`resource` is missing or wrong/],
])("metadata for the resource %s is not used", async (named, message) => {
  const server = await startAnsweringServer((origin) => ({
    [resourcePath]: resource(origin, {
      resource: typeof named === "string" ? named.replace("ORIGIN", origin) : named,
    }),
    [serverPath]: metadata(origin),
  }));
  await expect(find(server.origin)).rejects.toThrow(message);
  expect(server.paths()).toEqual([resourcePath]);
});

test("without metadata of the resource its own origin is the issuer", async () => {
  const server = await startAnsweringServer((origin) => ({
    [serverPath]: metadata(origin, {
      issuer: `${origin}/`,
      token_endpoint: `${origin}/oauth/token`,
    }),
  }));
  const found = await find(server.origin);
  expect(found.resource).toBe(`${server.origin}/mcp`);
  expect(found.server.token_endpoint).toBe(`${server.origin}/oauth/token`);
  await expect(find(server.origin, { mayUse: () => false })).rejects.toThrow(/allowIssuers/);
});

test("without any metadata the endpoints are where revision 2025-03-26 has them", async () => {
  const page = status(200, "<!doctype html><title>An application</title>");
  const server = await startAnsweringServer(() => ({ [resourcePath]: page, [serverPath]: page }));
  const { origin } = server;
  const found = await find(origin);
  expect(found.isAssumed).toBe(true);
  expect(found.server).toEqual({
    issuer: origin,
    authorization_endpoint: `${origin}/authorize`,
    token_endpoint: `${origin}/token`,
    registration_endpoint: `${origin}/register`,
    code_challenge_methods_supported: ["S256"],
  });
});

test("an issuer that the resource names has metadata, or there is no sign-in", async () => {
  const server = await startAnsweringServer((origin) => ({ [resourcePath]: resource(origin) }));
  await expect(find(server.origin)).rejects.toThrow(/the authorization server has no metadata/);
});

test.each([
  "javascript:alert(1)",
  "data:text/html,hello",
  "http://as.example/authorize",
  "/authorize",
  7,
  "https://login.example@evil.example/authorize",
])("an endpoint that is %s is refused", async (authorization_endpoint) => {
  const server = await startAnsweringServer((origin) => ({
    [resourcePath]: resource(origin),
    [serverPath]: metadata(origin, { authorization_endpoint }),
  }));
  await expect(find(server.origin)).rejects.toThrow(/`authorization_endpoint` is missing or wrong/);
});

const failures: [string, Answer, RegExp][] = [
  ["a 503", status(503, { error: "temporarily_unavailable" }), /HTTP 503.*Try again later/],
  ["a 429", status(429, "slow down"), /HTTP 429.*Try again later/],
  ["broken JSON", status(200, '{"issuer":', "application/json"), /no JSON object/],
  ["a JSON array", status(200, [1]), /no JSON object/],
  ["a cut connection", cut, /the connection broke/],
  ["an answer without an end", endless, /no answer came in time/],
  ["a huge answer", huge, /more than 1 MiB/],
];

test.each(failures)(
  "%s says nothing about the metadata, so it is no 404",
  async (_, answer, words) => {
    const ofResource = await startAnsweringServer((origin) => ({
      [resourcePath]: answer,
      [serverPath]: metadata(origin),
    }));
    await expect(find(ofResource.origin, {}, 200)).rejects.toThrow(words);
    const ofServer = await startAnsweringServer((origin) => ({
      [resourcePath]: resource(origin),
      [serverPath]: answer,
      [openIdPath]: metadata(origin),
    }));
    await expect(find(ofServer.origin, {}, 200)).rejects.toThrow(words);
  },
);

test("without the resource's metadata its URL is the identifier, and no key in its query is told", async () => {
  const server = await startAnsweringServer((origin) => ({ [serverPath]: metadata(origin) }));
  const url = new URL(`${server.origin}/mcp?key=of-the-application`);
  expect((await find(server.origin, { url })).resource).toBe(`${server.origin}/mcp`);
});

test("a redirect is refused", async () => {
  const server = await startAnsweringServer((origin) => ({
    [resourcePath]: (response) => response.writeHead(302, { location: `${origin}/else` }).end(),
  }));
  await expect(find(server.origin)).rejects.toMatchObject({
    code: "CONNECTION_UNAVAILABLE",
    data: { reason: "redirect" },
  });
  expect(server.paths()).toEqual([resourcePath]);
});

test("the endpoints of the chosen issuer may be asked afterwards, and no other origin", async () => {
  const tokens = await startAnsweringServer(() => ({ "/token": { ok: true } }));
  const other = await startAnsweringServer(() => ({}));
  const server = await startAnsweringServer((origin) => ({
    [resourcePath]: resource(origin),
    [serverPath]: metadata(origin, { token_endpoint: `${tokens.origin}/token` }),
  }));
  const guard = createGuardedFetch({ resource: new URL(server.origin) });
  const refused = { code: "CONNECTION_UNAVAILABLE", data: { reason: "other-origin" } };
  await expect(guard.fetch(`${tokens.origin}/token`)).rejects.toMatchObject(refused);
  await find(server.origin, { guard });
  expect((await guard.fetch(`${tokens.origin}/token`)).status).toBe(200);
  await expect(guard.fetch(other.origin)).rejects.toMatchObject(refused);
});

test("a caller that gives up gets its own reason", async () => {
  const server = await startAnsweringServer(() => ({ [resourcePath]: endless }));
  const reason = new Error("The step is over.");
  const limit = new AbortController();
  setTimeout(() => limit.abort(reason), 50);
  await expect(find(server.origin, { signal: limit.signal })).rejects.toBe(reason);
  await expect(find(server.origin, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  await expect(find(server.origin, { signal: AbortSignal.timeout(50) })).rejects.toMatchObject({
    code: "CONNECTION_UNAVAILABLE",
    data: { reason: "timeout" },
  });
});
