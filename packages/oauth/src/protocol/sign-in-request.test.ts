import { expect, test } from "vitest";
import { type AuthorizationServer, serverByConvention } from "./authorization-server.ts";
import type { Client } from "./client.ts";
import { createSignIn } from "./sign-in-request.ts";

const server = serverByConvention("https://as.example");

function signIn(of: AuthorizationServer, scopes: string[] = [], more: Partial<Client> = {}) {
  return createSignIn({
    server: of,
    client: { clientId: "a-client", secret: "canary", authMethod: "client_secret_post", ...more },
    redirectUrl: "https://app.example/callback",
    scopes,
    resource: "https://mcp.example/mcp",
    state: "a-state",
    verifier: "a-verifier-canary",
  });
}

test("the endpoint's own query stays, and cannot take the place of a parameter", async () => {
  const authorization_endpoint = "https://as.example/authorize?tenant=1&state=theirs";
  const url = await signIn({ ...server, authorization_endpoint });
  expect(url.searchParams.get("tenant")).toBe("1");
  expect(url.searchParams.getAll("state")).toEqual(["a-state"]);
  expect(url.searchParams.has("scope")).toBe(false);
});

test("a client has further parameters, in the place of none but the prompt", async () => {
  const authorizationParameters = { access_type: "offline", prompt: "select_account", state: "x" };
  const scopes = ["a", "offline_access"];
  const { searchParams } = await signIn(server, scopes, { authorizationParameters });
  expect(searchParams.get("access_type")).toBe("offline");
  expect(searchParams.get("prompt")).toBe("select_account");
  expect(searchParams.getAll("state")).toEqual(["a-state"]);
});

test.each([[undefined], [[]], [["plain"]]])(
  "a server whose code_challenge_methods_supported is %j gets no sign-in",
  async (code_challenge_methods_supported) => {
    await expect(signIn({ ...server, code_challenge_methods_supported })).rejects.toMatchObject({
      code: "CONNECTION_UNAVAILABLE",
      message: expect.stringMatching(/https:\/\/as\.example does not say that it does PKCE/),
    });
  },
);

test("a server without an authorization endpoint is named", async () => {
  await expect(signIn({ ...server, authorization_endpoint: undefined })).rejects.toThrow(
    /names no authorization endpoint/,
  );
});
