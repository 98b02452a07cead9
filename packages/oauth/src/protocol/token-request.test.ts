import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { inspect } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import {
  type Answer,
  cut,
  cutWithin,
  endless,
  huge,
  startAnsweringServer,
  status,
} from "../../test/answering-server.ts";
import { createGuardedFetch } from "../guard/guarded-fetch.ts";
import { serverByConvention } from "./authorization-server.ts";
import { checkCallback } from "./check-callback.ts";
import type { Client } from "./client.ts";
import { exchangeCode, refreshTokens, requestClientCredentials } from "./token-request.ts";

const refreshToken = "refresh-token-canary";
const client: Client = {
  clientId: "a-client",
  secret: "client-secret-canary",
  authMethod: "client_secret_post",
};
const good = { access_token: "new-access-token", token_type: "Bearer" };

async function refreshAt(
  answer: Answer,
  options: { timeoutMs?: number; signal?: AbortSignal } = {},
) {
  const server = await startAnsweringServer(() => ({ "/token": answer }));
  const url = new URL(server.origin);
  const { fetch } = createGuardedFetch({ resource: url, timeoutMs: options.timeoutMs ?? 5_000 });
  const outcome = await refreshTokens({
    server: serverByConvention(server.origin),
    client,
    refreshToken,
    resource: `${server.origin}/mcp`,
    fetch,
    signal: options.signal,
    now: () => 1_000,
  });
  expect(server.paths().length).toBeLessThanOrEqual(1);
  expect(inspect(outcome, { depth: null, showHidden: true })).not.toMatch(/canary/);
  return outcome;
}

test.each([
  [
    "the fields of the specification",
    { ...good, expires_in: 60, scope: "a b" },
    61_000,
    ["a", "b"],
  ],
  ["a lower-case type", { ...good, token_type: "bearer" }, undefined, undefined],
  ["numbers as text", { ...good, expires_in: "60" }, 61_000, undefined],
  [
    "null for nothing",
    { ...good, expires_in: null, refresh_token: null, scope: null },
    undefined,
    undefined,
  ],
  ["empty texts for nothing", { ...good, refresh_token: "", scope: "" }, undefined, undefined],
  ["-1 for a token without an end", { ...good, expires_in: -1 }, undefined, undefined],
  ["a life beyond all numbers", { ...good, expires_in: 1e308 }, undefined, undefined],
  ["an ID token that nobody looks at", { ...good, id_token: "x.y.z" }, undefined, undefined],
])("tokens with %s are read", async (_, answer, expiresAt, scopes) => {
  expect(await refreshAt(status(200, answer))).toEqual({
    type: "tokens",
    tokens: {
      accessToken: "new-access-token",
      expiresAt,
      refreshToken: undefined,
      scopes,
      isBound: false,
    },
  });
});

test.each([
  [400, { error: "invalid_grant" }, "invalid_grant"],
  [401, { error: "invalid_client" }, "invalid_client"],
  [400, { error: "unauthorized_client" }, "unauthorized_client"],
  [
    403,
    { error: "invalid_grant", error_description: "Unknown or invalid refresh token." },
    "invalid_grant",
  ],
  [200, { error: "bad_refresh_token" }, "bad_refresh_token"],
  [400, { error: "use_dpop_nonce" }, "use_dpop_nonce"],
])("a %i with %j is the server's own refusal", async (code, answer, error) => {
  const description = "error_description" in answer ? answer.error_description : "";
  expect(await refreshAt(status(code, answer))).toEqual({ type: "refused", error, description });
});

const refused: Answer = (response) => {
  const headers = { "www-authenticate": "Basic", "content-type": "application/json" };
  response.writeHead(401, headers).end('{"error":"invalid_client"}');
};

test("a 401 with a challenge is read like one without", async () => {
  expect(await refreshAt(refused)).toMatchObject({ type: "refused", error: "invalid_client" });
});

test("what was sent is not in the server's own words", async () => {
  const error_description = `No: ${refreshToken},\r\n${encodeURIComponent(client.secret!)} \u202E ${"x".repeat(999)}`;
  const outcome = await refreshAt(status(400, { error: "invalid_grant", error_description }));
  expect(outcome).toMatchObject({
    type: "refused",
    description: expect.stringMatching(/^No: \[removed\], \[removed\] x{50,}…$/),
  });
  const word = await refreshAt(status(400, { error: refreshToken }));
  expect(word).toMatchObject({ type: "failed", sent: "answered" });
});

const busy: Answer = (response) =>
  response.writeHead(429, { "retry-after": "90" }).end('{"error":"too_many_requests"}');
const later: Answer = (response) => response.writeHead(503, { "retry-after": "1" }).end();

test.each<[string, Answer, "answered" | "perhaps", RegExp]>([
  ["a 429", status(429, { error: "invalid_grant" }), "answered", /HTTP 429.*Try again later/],
  [
    "a 429 that names a time",
    busy,
    "answered",
    /gave no tokens, and has too many requests\. Try again later, in 90 seconds/,
  ],
  ["a 503 in words", status(503, { error: "invalid_grant" }), "answered", /HTTP 503/],
  ["a 500 page", status(500, "<h1>Oops</h1>"), "perhaps", /HTTP 500/],
  ["a 504 of a gateway in JSON", status(504, { error: "Gateway Timeout" }), "perhaps", /HTTP 504/],
  ["a 503", status(503, ""), "perhaps", /HTTP 503/],
  ["a 503 that names a time", later, "answered", /HTTP 503/],
  ["a 500 of the server", status(500, { error: "server_error" }), "answered", /HTTP 500/],
  ["a 400 page", status(400, "<h1>Bad Request</h1>"), "answered", /HTTP 400/],
  ["a 403 of a firewall", status(403, { error: "Forbidden" }), "answered", /HTTP 403/],
  [
    "a 400 of a server that is not well",
    status(400, { error: "server_error" }),
    "answered",
    /HTTP 400/,
  ],
  ["a 404", status(404, { error: "not_found" }), "answered", /HTTP 404/],
  ["a 200 page", status(200, "<h1>Login</h1>"), "perhaps", /no JSON object/],
  ["a 200 without a token", status(200, { token_type: "Bearer" }), "perhaps", /token response/],
  ["a 200 without a type", status(200, { access_token: "x" }), "perhaps", /token response/],
  ["a 200 without a body", status(200, ""), "perhaps", /empty/],
  ["broken JSON", status(200, '{"access_token":', "application/json"), "perhaps", /no JSON object/],
  ["a DPoP token", status(200, { ...good, token_type: "DPoP" }), "perhaps", /DPoP/],
  ["a cut connection", cut, "perhaps", /the connection broke/],
  ["an answer that breaks off", cutWithin(200), "perhaps", /the connection broke/],
  ["a huge answer", huge, "perhaps", /more than 1 MiB/],
])("%s says nothing about the refresh token", async (_, answer, sent, words) => {
  const outcome = await refreshAt(answer);
  expect(outcome).toMatchObject({ type: "failed", sent });
  expect(outcome).toHaveProperty("error.message", expect.stringMatching(words));
});

test("no answer in time is perhaps carried out", async () => {
  const outcome = await refreshAt(endless, { timeoutMs: 100 });
  expect(outcome).toMatchObject({
    type: "failed",
    sent: "perhaps",
    error: { data: { reason: "timeout" } },
  });
});

const moved: Answer = (response) => response.writeHead(307, { location: "/else" }).end();

test("a redirect was answered", async () => {
  expect(await refreshAt(moved)).toMatchObject({
    type: "failed",
    sent: "answered",
    error: { code: "CONNECTION_UNAVAILABLE", data: { reason: "redirect" } },
  });
});

test("what was certainly not sent is known", async () => {
  const server = serverByConvention(`http://127.0.0.1:${await closedPort()}`);
  const { fetch } = createGuardedFetch({ resource: new URL(server.issuer) });
  const request = { server, client, refreshToken, resource: server.issuer, fetch };
  const no = { type: "failed", sent: "no" };
  expect(await refreshTokens(request)).toMatchObject({
    ...no,
    error: { code: "CONNECTION_UNAVAILABLE", data: { method: "POST", reason: "refused" } },
  });
  const elsewhere = { ...server, token_endpoint: "https://as.example/token" };
  expect(await refreshTokens({ ...request, server: elsewhere })).toMatchObject({
    ...no,
    error: { code: "CONNECTION_UNAVAILABLE", data: { reason: "other-origin" } },
  });
  const incomplete: Client = { clientId: "a-client", authMethod: "private_key_jwt" };
  expect(await refreshTokens({ ...request, client: incomplete })).toMatchObject({
    ...no,
    error: { code: "CONNECTION_INVALID" },
  });
  const signal = AbortSignal.abort();
  expect(await refreshTokens({ ...request, signal })).toMatchObject(no);
});

test("a connection that is not made in half of the time was not sent", async () => {
  // It accepts, and never answers the TLS handshake.
  const server = createServer().listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await once(server, "listening");
  const issuer = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { fetch } = createGuardedFetch({ resource: new URL(issuer), timeoutMs: 4_000 });
  const request = { server: serverByConvention(issuer), client, refreshToken, resource: issuer };
  expect(await refreshTokens({ ...request, fetch })).toMatchObject({ type: "failed", sent: "no" });
});

test("a caller that gives up after the request is told that it may have been carried out", async () => {
  const outcome = await refreshAt(endless, { signal: AbortSignal.timeout(100) });
  expect(outcome).toMatchObject({ type: "failed", sent: "perhaps" });
});

test.each(["a\r\nb-canary", "ü-canary", `canary${"x".repeat(65_536)}`])(
  "a token that no header takes is none, and is in no message",
  async (token) => {
    for (const wrong of [{ access_token: token }, { refresh_token: token }]) {
      const outcome = await refreshAt(status(200, { ...good, ...wrong }));
      expect(outcome).toMatchObject({ type: "failed", sent: "perhaps" });
    }
  },
);

test("a request of the client's own that breaks is sent once", async () => {
  const server = await startAnsweringServer(() => ({ "/token": cut }));
  const { fetch } = createGuardedFetch({ resource: new URL(server.origin) });
  const request = {
    server: serverByConvention(server.origin),
    resource: server.origin,
    fetch,
    client,
  };
  expect(await requestClientCredentials(request)).toMatchObject({
    type: "failed",
    sent: "perhaps",
  });
  expect(server.paths()).toEqual(["/token"]);
});

test("a code whose exchange breaks is sent once, and is in no message", async () => {
  const server = await startAnsweringServer(() => ({ "/token": status(502, "Bad gateway") }));
  const { fetch } = createGuardedFetch({ resource: new URL(server.origin) });
  const url = new URL("https://app.example/callback?code=code-canary&state=state-canary");
  const of = { server: serverByConvention(server.origin), client };
  const callback = checkCallback({ ...of, url, state: "state-canary" });
  if (callback.type !== "code") throw new Error("There is a code.");
  const outcome = await exchangeCode({
    ...of,
    parameters: callback.parameters,
    redirectUrl: "https://app.example/callback",
    verifier: "v".repeat(43),
    resource: server.origin,
    fetch,
  });
  expect(outcome).toMatchObject({ type: "failed", sent: "perhaps" });
  expect(inspect(outcome, { depth: null, showHidden: true })).not.toMatch(/canary|vvvv/);
  expect(server.paths()).toEqual(["/token"]);
});

/** A port where nobody listens. */
async function closedPort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}
