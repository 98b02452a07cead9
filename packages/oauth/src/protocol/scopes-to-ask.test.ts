import { expect, test } from "vitest";
import { serverByConvention } from "./authorization-server.ts";
import { scopesToAsk, splitScopes } from "./scopes-to-ask.ts";

const server = serverByConvention("https://as.example");
const offline = { ...server, scopes_supported: ["openid", "offline_access"] };

test.each([
  ["the challenge's, before all others", { challenged: ["a"], resourceScopes: ["b", "c"] }, ["a"]],
  ["the resource's, without a challenge", { resourceScopes: ["b", "c"] }, ["b", "c"]],
  ["none, if nobody names any", {}, []],
  [
    "those held, and what is missing",
    { held: ["a", "b"], challenged: ["b", "c"] },
    ["a", "b", "c"],
  ],
])("asks for %s", (_, sources, scopes) => {
  expect(scopesToAsk({ ...sources, server })).toEqual(scopes);
});

test("asks for offline_access beside others, where the server has it", () => {
  expect(scopesToAsk({ challenged: ["a"], server: offline })).toEqual(["a", "offline_access"]);
  expect(scopesToAsk({ held: ["offline_access", "a"], server: offline })).toHaveLength(2);
  expect(scopesToAsk({ server: offline })).toEqual([]);
});

test("scopes in a text have spaces between them", () => {
  expect(splitScopes(" a  b\ta ")).toEqual(["a", "b"]);
  expect(splitScopes("")).toEqual([]);
});
