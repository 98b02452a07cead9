import type * as oauth from "oauth4webapi";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { type AuthorizationServer, startAuthorizationServer } from "./authorization-server.ts";
import { discover, refreshByHand, register, signInForTokens } from "./sign-in-by-hand.ts";

const resource = "http://127.0.0.1:10239/mcp";
let authorization: AuthorizationServer;
let server: oauth.AuthorizationServer;
let client: oauth.Client;
beforeAll(async () => {
  authorization = await startAuthorizationServer({ accessTokenSeconds: 60 });
  server = await discover(authorization.issuer);
  client = await register(server);
});
beforeEach(() => authorization.clearJournal());
afterAll(() => authorization.stop());

const signIn = () => signInForTokens(server, client, resource);
const refresh = (token: string | undefined) => refreshByHand(server, client, token!, resource);
const refused = (error: string) => expect.objectContaining({ error });

test("rotates refresh tokens, and revokes the grant when one is used again", async () => {
  const first = await signIn();
  const second = await refresh(first.refresh_token);
  expect(second.refresh_token).not.toBe(first.refresh_token);
  await expect(refresh(first.refresh_token)).rejects.toEqual(refused("invalid_grant"));
  await expect(refresh(second.refresh_token)).rejects.toEqual(refused("invalid_grant"));
  const { refreshToken, grantsRevoked } = await authorization.reuse();
  expect({ refreshToken, grantsRevoked }).toEqual({ refreshToken: 2, grantsRevoked: 1 });
  const refreshes = await authorization.requests("token", "refresh_token");
  expect(refreshes.map(({ status, error }) => [status, error])).toEqual([
    [200, undefined],
    [400, "invalid_grant"],
    [400, "invalid_grant"],
  ]);
});

test("sees the second use of a refresh token also when both come at once", async () => {
  for (let round = 0; round < 5; round += 1) {
    const { refresh_token: token } = await signIn();
    const all = await Promise.allSettled([refresh(token), refresh(token), refresh(token)]);
    expect(all.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    expect((await authorization.reuse()).grantsRevoked).toBe(round + 1);
  }
});

test("has token requests go wrong as planned", async () => {
  const { refresh_token: first } = await signIn();
  const grantType = "refresh_token";
  await authorization.failTokenRequests({ fault: "wait-after", waitMs: 300, grantType });
  const startedAt = Date.now();
  const { refresh_token: second } = await refresh(first);
  expect(Date.now() - startedAt).toBeGreaterThanOrEqual(299);

  await authorization.failTokenRequests({ fault: "cut-after", grantType });
  await expect(refresh(second)).rejects.toThrow("fetch failed");
  await expect(refresh(second)).rejects.toEqual(refused("invalid_grant"));
  const refreshes = await authorization.requests("token", "refresh_token");
  expect(refreshes.map(({ fault }) => fault)).toEqual(["wait-after", "cut-after", undefined]);
});
