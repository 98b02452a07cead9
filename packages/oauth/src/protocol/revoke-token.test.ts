import { expect, test } from "vitest";
import { type Answer, cut, startAnsweringServer, status } from "../../test/answering-server.ts";
import { createGuardedFetch } from "../guard/guarded-fetch.ts";
import { serverByConvention } from "./authorization-server.ts";
import type { Client } from "./client.ts";
import { revokeToken } from "./revoke-token.ts";

const client: Client = { clientId: "a-client", authMethod: "none" };

async function revokeAt(answer: Answer, path = "/revoke") {
  const { origin } = await startAnsweringServer(() => ({ "/revoke": answer }));
  return await revokeToken({
    server: { ...serverByConvention(origin), revocation_endpoint: origin + path },
    client,
    token: "token-canary",
    hint: "refresh_token",
    fetch: createGuardedFetch({ resource: new URL(origin) }).fetch,
  });
}

test("an answer without a body is enough", async () => {
  expect(await revokeAt((response) => response.writeHead(200).end())).toEqual({ type: "revoked" });
});

test("a server without an endpoint for it cannot revoke", async () => {
  const request = { server: serverByConvention("https://as.example"), client, fetch };
  expect(await revokeToken({ ...request, token: "t", hint: "access_token" })).toEqual({
    type: "unsupported",
  });
  const answer = status(400, { error: "unsupported_token_type" });
  expect(await revokeAt(answer)).toEqual({ type: "unsupported" });
});

test.each<[string, Answer, RegExp]>([
  ["a 503", status(503, "Down"), /HTTP 503.*stays good until it expires/],
  ["the server's own word", status(401, { error: "invalid_client" }), /\(invalid_client\)/],
  ["the token as a word", status(400, { error: "token-canary" }), /not revoked\. It stays/],
  ["a cut connection", cut, /the connection broke/],
])("%s is a failure in words", async (_, answer, words) => {
  const outcome = await revokeAt(answer);
  expect(outcome).toMatchObject({ type: "failed" });
  expect(outcome).toHaveProperty("error.message", expect.stringMatching(words));
  expect(outcome).toHaveProperty("error.message", expect.not.stringMatching(/canary/));
});
