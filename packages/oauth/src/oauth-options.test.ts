import { createMemoryStore } from "@durable-mcp/core";
import { expect, test } from "vitest";
import { createOAuth } from "./create-oauth.ts";
import type { OAuthOptions } from "./oauth-options.ts";

const right: OAuthOptions = {
  store: createMemoryStore(),
  keys: { current: new Uint8Array(32) },
  redirectUrl: "https://app.example/oauth/callback",
};

const create = (changes: Record<string, unknown>) => () => createOAuth({ ...right, ...changes });

test("takes what it documents", () => {
  const issuer = "https://login.example";
  expect(
    create({
      redirectUrl: new URL(right.redirectUrl),
      startUrl: "https://app.example/start",
      clientMetadataUrl: "https://app.example/client.json",
      clients: [
        { issuer, clientId: "a", clientSecret: "s", tokenEndpointAuthMethod: "client_secret_post" },
        {
          issuer,
          clientId: "b",
          privateKey: { kty: "EC" },
          keyId: "1",
          clientCredentials: true,
          scopes: [],
        },
      ],
      clientName: "Notes",
      allowIssuers: [issuer, new URL(issuer)],
      allowPrivateAddresses: true,
      fetch,
      onSignedIn: () => undefined,
      onEvent: () => undefined,
      timeoutMs: 1,
      now: Date.now,
    }),
  ).not.toThrow();
});

const client = { issuer: "https://login.example", clientId: "a" };

test.each([
  ["store", { store: {} }],
  ["keys", { keys: undefined }],
  ["keys", { keys: "plain" }],
  ["keys.current", { keys: { current: new Uint8Array(16) } }],
  ["keys.previous", { keys: { ...(right.keys as object), previous: "short" } }],
  ["redirectUrl", { redirectUrl: "/oauth/callback" }],
  ["redirectUrl", { redirectUrl: "javascript:alert(1)" }],
  ["redirectUrl", { redirectUrl: "https://app.example/#/oauth/callback" }],
  ["startUrl", { startUrl: "start" }],
  ["clientMetadataUrl", { clientMetadataUrl: "https://app.example/" }],
  ["clients", { clients: client }],
  ["clients[1].issuer", { clients: [client, { clientId: "b" }] }],
  ["clients[0].scopes", { clients: [{ ...client, scopes: "notes:read" }] }],
  ["clients[0].clientCredentials", { clients: [{ ...client, clientCredentials: "yes" }] }],
  [
    "clients[0].tokenEndpointAuthMethod",
    { clients: [{ ...client, tokenEndpointAuthMethod: "tls" }] },
  ],
  [
    "clients[0].authorizationParameters.state",
    { clients: [{ ...client, authorizationParameters: { state: "ours" } }] },
  ],
  [
    "clients[0].authorizationParameters.code_challenge",
    { clients: [{ ...client, authorizationParameters: { code_challenge: "ours" } }] },
  ],
  [
    "clients[0].authorizationParameters",
    { clients: [{ ...client, authorizationParameters: { access_type: 1 } }] },
  ],
  ["clients[0].secret", { clients: [{ ...client, secret: "s" }] }],
  ["allowIssuers[1]", { allowIssuers: ["https://login.example", "login.example"] }],
  ["allowPrivateAddresses", { allowPrivateAddresses: "yes" }],
  ["onSignedIn", { onSignedIn: "/chat" }],
  ["timeoutMs", { timeoutMs: 0 }],
  ["now", { now: 5 }],
  ["redirectUri", { redirectUri: "https://app.example/callback" }],
])("names %s", (field, changes) => {
  expect(create(changes)).toThrow(
    expect.objectContaining({
      code: "CONNECTION_INVALID",
      data: expect.objectContaining({ field }),
      message: expect.stringContaining(field),
    }),
  );
});

test("names the option that is meant", () => {
  expect(create({ redirectURL: "https://app.example" })).toThrow("redirectUrl");
  expect(create({ allowIssuer: [] })).toThrow("allowIssuers");
});

test("does not repeat a secret in its errors", () => {
  for (const changes of [
    { keys: { current: "secret-of-mine" } },
    { clients: [{ ...client, clientSecret: "secret-of-mine", tokenEndpointAuthMethod: "tls" }] },
  ]) {
    expect(create(changes)).not.toThrow("secret-of-mine");
    expect(create(changes)).toThrow("must be");
  }
});
