import type { IncomingMessage, ServerResponse } from "node:http";
import { json } from "node:stream/consumers";
import { expect, test } from "vitest";
import { startLoopbackServer } from "../../test/loopback-server.ts";
import { createGuardedFetch } from "../guard/guarded-fetch.ts";
import { type AuthorizationServer, serverByConvention } from "./authorization-server.ts";
import { registerClient } from "./register-client.ts";

async function register(
  answer: unknown,
  {
    status = 201,
    redirectUrl = "https://app.example/oauth/callback",
    ...metadata
  }: Partial<AuthorizationServer> & { status?: number; redirectUrl?: string } = {},
) {
  let asked: unknown;
  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    asked = await json(request);
    response.writeHead(status, { "content-type": "application/json" });
    response.end(JSON.stringify(answer));
  };
  const { origin } = await startLoopbackServer(
    (request, response) => void handle(request, response),
  );
  const client = await registerClient({
    server: { ...serverByConvention(origin), ...metadata },
    redirectUrl,
    clientName: "An agent",
    fetch: createGuardedFetch({ resource: new URL(origin) }).fetch,
  });
  return { client, asked };
}

const none = { token_endpoint_auth_methods_supported: ["client_secret_basic", "none"] };

test("a public client is registered for codes and refreshes", async () => {
  const { client, asked } = await register({ client_id: "new" }, none);
  expect(client).toEqual({ clientId: "new", authMethod: "none" });
  expect(asked).toEqual({
    redirect_uris: ["https://app.example/oauth/callback"],
    application_type: "web",
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    token_endpoint_auth_method: "none",
    client_name: "An agent",
  });
});

test.each([
  ["http://localhost:3000/callback", "native"],
  ["http://127.0.0.1:3000/callback", "native"],
  ["http://[::1]:3000/callback", "native"],
  ["https://localhost/callback", "web"],
  ["https://app.example/callback", "web"],
  ["https://localhost.app.example/callback", "web"],
])("with the callback %s the application is %s", async (redirectUrl, application_type) => {
  const { asked } = await register({ client_id: "new" }, { ...none, redirectUrl });
  expect(asked).toMatchObject({ application_type });
});

test("no refreshes are asked for where the server names its grant types without them", async () => {
  const answer = { client_id: "new" };
  const { asked } = await register(answer, {
    ...none,
    grant_types_supported: ["authorization_code"],
  });
  expect(asked).toMatchObject({ grant_types: ["authorization_code"] });
});

test("a secret is kept with its expiry", async () => {
  const answer = { client_id: "new", client_secret: "s", client_secret_expires_at: 2_000_000_000 };
  expect((await register(answer)).client).toEqual({
    clientId: "new",
    secret: "s",
    authMethod: "client_secret_basic",
    expiresAt: 2_000_000_000_000,
  });
});

test.each([
  ["a secret without an expiry", { client_secret: "s" }, "client_secret_basic"],
  [
    "a secret that never expires",
    { client_secret: "s", client_secret_expires_at: 0 },
    "client_secret_basic",
  ],
  [
    "a method that nobody asked for",
    { client_secret: "s", token_endpoint_auth_method: "client_secret_post" },
    "client_secret_post",
  ],
])("%s is taken", async (_, answer, authMethod) => {
  const { client } = await register({ client_id: "new", ...answer });
  expect(client).toEqual({ clientId: "new", secret: "s", authMethod });
});

test.each([
  ["no client id", { client_secret: "s" }],
  ["no secret", { client_id: "new", token_endpoint_auth_method: "client_secret_basic" }],
  ["an unknown method", { client_id: "new", token_endpoint_auth_method: "tls_client_auth" }],
])("an answer with %s is refused", async (_, answer) => {
  await expect(register(answer)).rejects.toMatchObject({
    code: "CONNECTION_UNAVAILABLE",
    message: expect.stringMatching(/registered no client/),
  });
});

test("the server's reason is in the error", async () => {
  const answer = { error: "invalid_redirect_uri", error_description: "only https\nis allowed" };
  await expect(register(answer, { status: 400 })).rejects.toThrow(
    /HTTP 400.*\(invalid_redirect_uri: only https is allowed\).*`clients`/,
  );
});

test("a server without registration is named, with what to do", async () => {
  await expect(register({}, { registration_endpoint: undefined })).rejects.toThrow(
    /registers no clients by itself.*`clients`.*clientMetadataUrl/,
  );
});
