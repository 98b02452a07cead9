/** A required connection whose login runs out between two steps. */
import type { OAuthClientProvider, OAuthTokens } from "@ai-sdk/mcp";
import { expect, test } from "vitest";
import { sendJson, sendText } from "../../../core/test/http-server.ts";
import { startNotebookServer } from "../../../sessions/test/notebook-server.ts";
import { notebook } from "../saved-session.ts";
import { alice, startApplication } from "../step.ts";

/** A server with an authorization server of its own, which refreshes a login if it still may. */
async function startWithLogin() {
  const server = await startNotebookServer();
  let valid = "token-1";
  let mayRefresh = true;
  server.intercept(({ path, headers }, response) => {
    const { origin, url } = server;
    if (path.startsWith("/.well-known/oauth-protected-resource")) {
      return sendJson(response, 200, { resource: url, authorization_servers: [origin] });
    }
    if (path.startsWith("/.well-known/oauth-authorization-server")) {
      return sendJson(response, 200, {
        issuer: origin,
        authorization_endpoint: `${origin}/authorize`,
        token_endpoint: `${origin}/token`,
        response_types_supported: ["code"],
        code_challenge_methods_supported: ["S256"],
      });
    }
    if (path === "/token") {
      if (!mayRefresh) return sendJson(response, 400, { error: "invalid_grant" });
      return sendJson(response, 200, { access_token: valid, token_type: "Bearer" });
    }
    if (path !== "/mcp") return sendText(response, 404);
    return headers.authorization === `Bearer ${valid}` ? "next" : sendText(response, 401);
  });

  let tokens: OAuthTokens = { access_token: valid, token_type: "Bearer", refresh_token: "refresh" };
  const authProvider: OAuthClientProvider = {
    tokens: () => tokens,
    authorizationServerInformation: () => ({
      authorizationServerUrl: server.origin,
      tokenEndpoint: `${server.origin}/token`,
    }),
    saveTokens: (saved) => void (tokens = { ...tokens, ...saved }),
    redirectToAuthorization: () => undefined,
    saveCodeVerifier: () => undefined,
    codeVerifier: () => "verifier",
    redirectUrl: "http://127.0.0.1/callback",
    clientMetadata: { redirect_uris: ["http://127.0.0.1/callback"] },
    clientInformation: () => ({ client_id: "client-1" }),
  };
  const notes = notebook(server, { authProvider, required: true });
  const { provider } = startApplication({ notes });
  const run = (session: { state?: unknown }) =>
    provider.run({ session, principal: alice }, async (own) => Object.keys(await own.tools()));
  const { session } = await run({});
  server.requests.length = 0;
  return {
    server,
    run: () => run(session),
    expire: (refresh: boolean) => {
      valid = "token-2";
      mayRefresh = refresh;
    },
  };
}

test("is renewed before the step begins", async () => {
  const { server, run, expire } = await startWithLogin();
  expire(true);
  expect((await run()).result).toContain("notes__add_note");
  expect(server.log.filter((line) => line === "POST ping")).toHaveLength(2);
  expect(server.requests.at(-1)?.headers.authorization).toBe("Bearer token-2");
});

test("keeps the step from beginning if it cannot be renewed", async () => {
  const { run, expire } = await startWithLogin();
  expire(false);
  await expect(run()).rejects.toMatchObject({ data: { connection: "notes" } });
});
