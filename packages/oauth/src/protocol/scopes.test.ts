import { expect, test } from "vitest";
import { createApplication, ada, errorOf } from "../../test/application.ts";
import { startHandMadeServer } from "../../test/hand-made-server.ts";
import { createOAuth } from "../create-oauth.ts";
import { createMemoryStore } from "@durable-mcp/core";
import { serverByConvention } from "./authorization-server.ts";
import { readScopes, scopesToAsk } from "./scopes.ts";

const many = Array.from({ length: 100_000 }, (_, each) => `s${each}`);
const nasty = [
  "notes:read",
  "\u001B[2Jscreen",
  'quo"te',
  "back\\slash",
  "ünïcode",
  "",
  "x".repeat(300),
];

/** What the user is asked for, and the length of the URL. */
async function asked(app: ReturnType<typeof createApplication>) {
  const location = await app.begin();
  return { length: location.length, scope: new URL(location).searchParams.get("scope") };
}

test("takes scopes of a resource's metadata that are scopes, and not too many", async () => {
  const server = await startHandMadeServer({ resourceMetadata: { scopes_supported: nasty } });
  const app = createApplication({ url: server.url });
  expect((await asked(app)).scope).toBe("notes:read");
  server.rules.resourceMetadata = { scopes_supported: many };
  expect((await asked(app)).length).toBeLessThan(8_000);
});

test("takes so of a challenge, and of what a token endpoint grants", async () => {
  const server = await startHandMadeServer({ grants: [...nasty, ...many].join(" ") });
  const app = createApplication({ url: server.url });
  const challenge = { scope: [...nasty, ...many].join(" ") };
  const { data } = await errorOf(app.getToken({ refused: { status: 401, challenge } }));
  expect(data.scopes).toHaveLength(100);
  expect((await asked(app)).length).toBeLessThan(8_000);
  await app.callback(server.consent(await app.begin()));
  const [grant] = await app.oauth.list({ principal: ada });
  expect(grant!.scopes).toHaveLength(100);
  expect(JSON.stringify(grant)).not.toMatch(/screen|quo|slash|ncode/);
});

test("keeps offline_access of an authorization server that lists many scopes, and not the others", async () => {
  const server = await startHandMadeServer({
    metadata: { scopes_supported: [...many, "offline_access"] },
    resourceMetadata: { scopes_supported: ["notes:read"] },
  });
  const store = createMemoryStore();
  const app = createApplication({ url: server.url, store, keys: "store tokens unencrypted" });
  expect((await asked(app)).scope).toBe("notes:read offline_access");
  const { records } = await store.list({ limit: 10 });
  expect(JSON.stringify(records).length).toBeLessThan(10_000);
});

test("refuses scopes of the options that are none", () => {
  const client = { issuer: "https://login.test", clientId: "app", clientCredentials: true };
  const create = (scopes: string[]) => () =>
    createOAuth({
      ...{ store: createMemoryStore(), keys: "store tokens unencrypted" },
      redirectUrl: "https://app.test/callback",
      clients: [{ ...client, scopes }],
    });
  expect(create(["notes:read"])).not.toThrow();
  for (const scopes of [["two words"], ["\u001B[2J"], many]) {
    expect(create(scopes)).toThrow("clients[0].scopes must be a list of scopes");
  }
});

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
  expect(readScopes(" a  b\ta ")).toEqual(["a", "b"]);
  expect(readScopes("")).toEqual([]);
});
