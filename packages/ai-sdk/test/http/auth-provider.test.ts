import type { OAuthClientProvider } from "@ai-sdk/mcp";
import { describe, expect, test } from "vitest";
import { sendJson, sendText } from "../../../core/test/http-server.ts";
import {
  type NotebookServer,
  startNotebookServer,
} from "../../../sessions/test/notebook-server.ts";
import { notebook, startNotes } from "../saved-session.ts";
import { alice, bob, callTool, startApplication } from "../step.ts";
import type { ConnectionContext } from "../../../sessions/src/declare/connection-context.ts";

/** An OAuth client that is logged in; asked to log in again, it has nowhere to go. */
const loggedIn = (token: string): OAuthClientProvider => ({
  tokens: () => ({ access_token: token, token_type: "Bearer" }),
  saveTokens: () => undefined,
  redirectToAuthorization: () => undefined,
  saveCodeVerifier: () => undefined,
  codeVerifier: () => "verifier",
  redirectUrl: "http://127.0.0.1/callback",
  clientMetadata: { redirect_uris: ["http://127.0.0.1/callback"] },
  clientInformation: () => ({ client_id: "client-1" }),
});

/** Refuses everything with 401 and names an authorization server at another origin. */
function demandLogin(server: NotebookServer, authorizationServer: string): void {
  const metadata = `${server.origin}/.well-known/oauth-protected-resource`;
  server.intercept(({ path }, response) => {
    if (path.startsWith("/.well-known/oauth-protected-resource")) {
      const resource = { resource: server.url, authorization_servers: [authorizationServer] };
      return sendJson(response, 200, resource);
    }
    if (path !== "/mcp") return sendText(response, 404);
    response.setHeader("www-authenticate", `Bearer resource_metadata="${metadata}"`);
    return sendText(response, 401);
  });
}

describe("authProvider", () => {
  test.each(["stateful", "stateless"] as const)("gives its tokens: %s", async (session) => {
    const authProvider = loggedIn("token-1");
    const { server, application } = await startNotes({ authProvider, session });
    await application.step({}, async (registry) => {
      await callTool(await registry.tools(), "notes__list_notes");
    });
    expect(server.requests.length).toBeGreaterThan(3);
    expect(new Set(server.requests.map(({ headers }) => headers.authorization))).toEqual(
      new Set(["Bearer token-1"]),
    );
  });

  test("as a function is asked for each principal's provider", async () => {
    const contexts: ConnectionContext[] = [];
    const authProvider = (context: ConnectionContext) => {
      contexts.push(context);
      return Promise.resolve(loggedIn(context.principal === bob ? "token-bob" : "token-alice"));
    };
    const { server, application } = await startNotes({ authProvider });
    await application.step({}, (registry) => registry.tools(), alice);
    await application.step({}, (registry) => registry.tools(), bob);
    expect(contexts).toMatchObject([
      { principal: alice, connection: "notes" },
      { principal: bob, connection: "notes" },
    ]);
    const authorizations = server.requests.map(({ headers }) => headers.authorization);
    expect([...new Set(authorizations)]).toEqual(["Bearer token-alice", "Bearer token-bob"]);
  });

  test.each(["stateful", "stateless"] as const)(
    "gives its tokens to the run's fetch, from one provider a step: %s",
    async (session) => {
      const server = await startNotebookServer();
      server.intercept((_, response) => void response.writeHead(202).end());
      const contexts: ConnectionContext[] = [];
      let token = "token-1";
      const authProvider = (context: ConnectionContext) => {
        contexts.push(context);
        return { ...loggedIn(""), tokens: () => ({ access_token: token, token_type: "Bearer" }) };
      };
      const { provider } = startApplication({ notes: notebook(server, { authProvider, session }) });
      await using registry = provider.create({ principal: alice });
      const fetch = registry.fetch("notes");
      const init = { method: "POST", body: "[]" };
      await fetch(server.url, init);
      token = "token-2";
      await fetch(server.url, init);
      await fetch(server.url, { ...init, headers: { Authorization: "Bearer own" } });
      await fetch(`${server.origin}/token`, init);
      expect(server.requests.map(({ headers }) => headers.authorization)).toEqual([
        "Bearer token-1",
        "Bearer token-2",
        "Bearer own",
        undefined,
      ]);
      server.intercept(() => "next");
      await registry.client("notes");
      expect(contexts).toHaveLength(1);
      expect(server.requests.at(-1)?.headers.authorization).toBe("Bearer token-2");
    },
  );

  test("without tokens leaves the run's fetch without any, or with those of headers", async () => {
    const server = await startNotebookServer();
    server.intercept((_, response) => void response.writeHead(202).end());
    const authProvider = { ...loggedIn(""), tokens: () => undefined };
    const { provider } = startApplication({
      anonymous: notebook(server, { authProvider }),
      basic: notebook(server, {
        authProvider: loggedIn("token-1"),
        headers: { Authorization: "Basic abc" },
      }),
    });
    await using registry = provider.create({ principal: alice });
    await registry.fetch("anonymous")(server.url, { method: "POST", body: "[]" });
    await registry.fetch("basic")(server.url, { method: "POST", body: "[]" });
    const authorizations = server.requests.map(({ headers }) => headers.authorization);
    expect(authorizations).toEqual([undefined, "Basic abc"]);
  });

  test("that cannot be had makes the connection unavailable", async () => {
    const { server, application } = await startNotes({
      authProvider: () => Promise.reject(new Error("no such user")),
    });
    await application.step({}, (registry) => registry.tools());
    expect(application.takeEvents()).toEqual(["unavailable"]);
    expect(server.requests).toEqual([]);
  });

  test("is not led to another origin without a fetch of the application's", async () => {
    const [server, elsewhere] = [await startNotebookServer(), await startNotebookServer()];
    demandLogin(server, elsewhere.origin);
    const { provider } = startApplication({
      notes: notebook(server, { authProvider: loggedIn("token-1") }),
    });
    await using registry = provider.create({ principal: alice });
    await expect(registry.client("notes")).rejects.toMatchObject({
      code: "CONNECTION_UNAVAILABLE",
      data: { reason: "other-origin", origin: elsewhere.origin, connection: "notes" },
    });
    expect(elsewhere.requests).toEqual([]);
  });

  test("of a stateless connection is left to the guard of @ai-sdk/mcp", async () => {
    const [server, elsewhere] = [await startNotebookServer(), await startNotebookServer()];
    demandLogin(server, elsewhere.origin);
    elsewhere.intercept((_, response) => sendText(response, 404));
    const { provider } = startApplication({
      notes: notebook(server, { authProvider: loggedIn("token-1"), session: "stateless" }),
    });
    await using registry = provider.create({});
    await expect(registry.client("notes")).rejects.toMatchObject({
      code: "CONNECTION_UNAVAILABLE",
    });
    // It lets a server on this machine name another one on this machine.
    expect(elsewhere.requests.length).toBeGreaterThan(0);
  });

  test("reaches another origin with a fetch of the application's, and takes no token there", async () => {
    const [server, elsewhere] = [await startNotebookServer(), await startNotebookServer()];
    demandLogin(server, elsewhere.origin);
    elsewhere.intercept((_, response) => sendText(response, 404));
    const { provider } = startApplication({
      notes: notebook(server, {
        authProvider: loggedIn("token-1"),
        fetch: (input, init) => fetch(input, init),
      }),
    });
    await using registry = provider.create({ principal: alice });
    await expect(registry.client("notes")).rejects.toMatchObject({ data: { connection: "notes" } });
    expect(elsewhere.requests.length).toBeGreaterThan(0);
    for (const { headers } of elsewhere.requests) {
      expect(headers).not.toHaveProperty("authorization");
      expect(headers).not.toHaveProperty("mcp-session-id");
    }
  });
});
