import { expect, test } from "vitest";
import { secretValues } from "./server-environment.ts";

test.each([
  [["--api-key=abc"], ["abc"]],
  [["--api-key", "abc", "--port", "80"], ["abc"]],
  [["-y", "server", "/srv/files", "--root=/srv"], []],
  [["GITHUB_TOKEN=abc"], ["abc"]],
  [["--header", "Authorization: Bearer abc"], ["Bearer abc"]],
  [["postgres://ada:a%20b@db/x"], ["a%20b", "a b"]],
  [["https://mcp.test/?api_key=abc&page=1"], ["abc"]],
])("of the arguments %j the secrets are %j", (args, secrets) => {
  expect(secretValues({}, args)).toEqual(secrets);
});

test("of the environment all values are, each of their lines, and the passwords of URLs", () => {
  const env = { KEY: "one\ntwo", DATABASE: "postgres://ada:pass@db/x" };
  expect(secretValues(env, [])).toEqual(["one\ntwo", env.DATABASE, "one", "two", "pass"]);
});
