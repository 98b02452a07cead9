import { expect, test } from "vitest";
import type { AuthorizationServer } from "./authorization-server.ts";
import { checkCallback } from "./check-callback.ts";
import type { Client } from "./client.ts";

const issuer = "https://as.example/tenant";
const server: AuthorizationServer = {
  issuer,
  token_endpoint: `${issuer}/token`,
  authorization_response_iss_parameter_supported: true,
};
const quiet: AuthorizationServer = { issuer, token_endpoint: `${issuer}/token` };
const client: Client = { clientId: "a-client", authMethod: "none" };
const state = "the-state-of-this-sign-in";

function check(query: string | Record<string, string>, of = server) {
  const url = new URL(`https://app.example/callback?${new URLSearchParams(query)}`);
  return checkCallback({ server: of, client, url, state });
}

test("a callback with the issuer and the state has the code", () => {
  const outcome = check({ code: "a-code", state, iss: issuer });
  expect(outcome.type === "code" && outcome.parameters.get("code")).toBe("a-code");
});

test.each([
  "https://evil.example",
  `${issuer}/`,
  "https://AS.example/tenant",
  "https://as.example:443/tenant",
  "https://as.example/%74enant",
  "",
])("an `iss` that is %j is refused, promised or not", (iss) => {
  expect(check({ code: "a-code", state, iss })).toMatchObject({ type: "forged" });
  expect(check({ code: "a-code", state, iss }, quiet)).toMatchObject({ type: "forged" });
});

test("without `iss` a callback is refused where the server promises it", () => {
  expect(check({ code: "a-code", state })).toEqual({
    type: "forged",
    why: expect.stringMatching(/does not name its issuer/),
  });
  expect(check({ code: "a-code", state }, quiet)).toMatchObject({ type: "code" });
});

test.each([
  ["another state", `code=a-code&iss=${issuer}&state=other`],
  ["no state", `code=a-code&iss=${issuer}`],
  ["two states", `code=a-code&iss=${issuer}&state=${state}&state=other`],
  ["two codes", `code=a-code&code=other&iss=${issuer}&state=${state}`],
  ["two issuers", `code=a-code&iss=${issuer}&iss=https://evil.example&state=${state}`],
  ["no code", `iss=${issuer}&state=${state}`],
  ["an empty code", `code=&iss=${issuer}&state=${state}`],
  ["a signed response", `response=x.y.z&iss=${issuer}&state=${state}`],
  ["an ID token", `code=a-code&id_token=x.y.z&iss=${issuer}&state=${state}`],
])("a callback with %s is refused", (_, query) => {
  expect(check(query)).toMatchObject({ type: "forged" });
});

test("an error is in the server's own words, on one line", () => {
  const error_description = "The user\nsaid\u0000 no";
  expect(check({ error: "access_denied", error_description, state, iss: issuer })).toEqual({
    type: "denied",
    error: "access_denied",
    description: "The user said no",
  });
  const html = { error: "<script>", state, iss: issuer };
  expect(check(html)).toMatchObject({ type: "denied", error: "an unknown error" });
});

test("nothing is shown of an error that another issuer made", () => {
  const forged = { error: "access_denied", error_description: "Call +1 555", state };
  for (const outcome of [check(forged), check({ ...forged, iss: "https://evil.example" })]) {
    expect(outcome.type).toBe("forged");
    expect(JSON.stringify(outcome)).not.toMatch(/access_denied|555|evil/);
  }
});
