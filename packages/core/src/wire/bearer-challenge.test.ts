import { expect, test } from "vitest";
import { bearerChallenge } from "./bearer-challenge.ts";

const of = (value: string) => bearerChallenge(new Headers({ "www-authenticate": value }));
const url = "https://mcp.test/.well-known/oauth-protected-resource/a?b=c,d";

test.each([
  [`Bearer resource_metadata="${url}"`, { resourceMetadata: url }],
  ["Bearer", {}],
  ["bearer error=invalid_token", { error: "invalid_token" }],
  [
    `Bearer realm="a, Basic b", error="insufficient_scope", scope="files:read files:write", Resource_Metadata = "${url}"`,
    { error: "insufficient_scope", scope: "files:read files:write", resourceMetadata: url },
  ],
  [`Basic realm="x", error="other", Bearer scope="a"`, { scope: "a" }],
  [
    `DPoP algs="ES256 RS256", Bearer error="invalid_token", Basic realm="y", scope="b"`,
    { error: "invalid_token", takesProofs: true },
  ],
  [`DPoP error="use_dpop_nonce"`, { error: "use_dpop_nonce", takesProofs: true }],
  [String.raw`Bearer error_description="say \"scope=x\"", scope=mcp`, { scope: "mcp" }],
  ['Bearer scope="first", scope="second"', { scope: "first" }],
])("reads %s", (value, expected) => {
  expect(of(value)).toEqual({
    error: undefined,
    scope: undefined,
    resourceMetadata: undefined,
    ...expected,
  });
});

test.each([
  "",
  "Basic realm=x",
  'Basic realm="Bearer scope=x"',
  "Negotiate a87421000492aa874209af8bc028==",
])("finds none in %j", (value) => expect(of(value)).toBeUndefined());

test("is done with a long header at once", () => {
  expect(of(`Bearer ${'a="'.repeat(5_000)}`)).toEqual(expect.anything());
});
