import { describe, expect, test } from "vitest";
import { authorizations, countedTokens, refuse } from "../counted-tokens.ts";
import { startNotebookServer } from "../../../sessions/test/notebook-server.ts";
import { notebook, startNotes } from "../saved-session.ts";
import { alice, callTool, startApplication } from "../step.ts";
import type { ConnectionContext } from "../../../sessions/src/declare/connection-context.ts";

describe("headers", () => {
  test.each(["stateful", "stateless"] as const)(
    "go with every request, their functions called once a step: %s",
    async (session) => {
      const contexts: ConnectionContext[] = [];
      const headers = {
        "X-Tenant": "acme",
        "x-trace": (context: ConnectionContext) => `trace-${contexts.push(context)}`,
      };
      const { server, application } = await startNotes({ headers, session });
      await application.step({}, async (registry) => {
        const tools = await registry.tools();
        await Promise.all([1, 2, 3].map(() => callTool(tools, "notes__list_notes")));
        await registry.fetch("notes")(server.url, { method: "POST", body: "{}" });
      });
      expect(contexts).toMatchObject([{ principal: alice, connection: "notes" }]);
      expect(server.requests.length).toBeGreaterThan(5);
      for (const { headers: received } of server.requests) {
        expect(received).toMatchObject({ "x-tenant": "acme", "x-trace": "trace-1" });
      }
    },
  );

  test.each(["stateful", "stateless"] as const)(
    "whose function fails make the connection unavailable, until it succeeds: %s",
    async (session) => {
      let isSealed = true;
      const headers = {
        "x-api-key": () => (isSealed ? Promise.reject(new Error("sealed")) : "key"),
      };
      const { server, application } = await startNotes({ headers, session });
      await application.step({}, async (registry) => {
        expect(await registry.tools()).toEqual({});
        expect(application.takeEvents()).toEqual(["unavailable"]);
        expect(server.requests).toEqual([]);
        isSealed = false;
        expect(Object.keys(await registry.tools())).toContain("notes__add_note");
      });
    },
  );

  test("do not replace the token", async () => {
    const { auth } = countedTokens();
    const headers = { Authorization: "Basic abc" };
    const { server, application } = await startNotes({ auth, headers });
    await application.step({}, (registry) => registry.tools());
    expect(new Set(authorizations(server))).toEqual(new Set(["Bearer token-1"]));
  });
});

describe("the fetch of a connection", () => {
  const sessions = ["stateful", "stateless"] as const;

  test.each(sessions)("sends no token or header to another path: %s", async (session) => {
    const server = await startNotebookServer();
    server.intercept((_, response) => void response.writeHead(200).end());
    const { auth } = countedTokens();
    const headers = { "x-api-key": "key" };
    const { provider } = startApplication({ notes: notebook(server, { auth, headers, session }) });
    const fetch = provider.create({ principal: alice }).fetch("notes");
    for (const path of ["/.well-known/oauth-protected-resource", "/mcp/", "/mcp?tenant=2"]) {
      await fetch(server.origin + path);
    }
    expect(server.requests).toHaveLength(3);
    for (const { headers: received } of server.requests) {
      expect(received).not.toHaveProperty("authorization");
      expect(received).not.toHaveProperty("x-api-key");
    }
  });

  test.each(sessions)(
    "refuses other origins without a fetch of the application's: %s",
    async (session) => {
      const [server, other] = [await startNotebookServer(), await startNotebookServer()];
      const { auth } = countedTokens();
      const { provider } = startApplication({ notes: notebook(server, { auth, session }) });
      const fetch = provider.create({ principal: alice }).fetch("notes");
      for (const input of [other.url, new URL(other.url), new Request(other.url)]) {
        await expect(fetch(input)).rejects.toMatchObject({
          code: "CONNECTION_UNAVAILABLE",
          data: { reason: "other-origin", origin: other.origin },
        });
      }
      expect(other.requests).toEqual([]);
    },
  );

  test.each(sessions)(
    "goes to other origins with a fetch of the application's, without token: %s",
    async (session) => {
      const [server, other] = [await startNotebookServer(), await startNotebookServer()];
      other.intercept((_, response) => void response.writeHead(200).end());
      const { auth } = countedTokens();
      const urls: string[] = [];
      const own: typeof fetch = (input, init) => {
        urls.push(input instanceof Request ? input.url : String(input));
        return fetch(input, init);
      };
      const { provider } = startApplication({
        notes: notebook(server, { auth, session, fetch: own }),
      });
      await using registry = provider.create({ principal: alice });
      await registry.tools();
      expect(new Set(urls)).toEqual(new Set([server.url]));
      await registry.fetch("notes")(other.url, { method: "POST", body: "{}" });
      expect(urls.at(-1)).toBe(other.url);
      expect(authorizations(other)).toEqual([undefined]);
    },
  );

  test.each(sessions)(
    "sends a Request once more after a 401, with its body: %s",
    async (session) => {
      const { auth } = countedTokens();
      const { server, provider } = await startNotes({ auth, session });
      await using registry = provider.create({ principal: alice });
      refuse(server, "POST", 1);
      const body = '[{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}]';
      const headers = { "content-type": "application/json", "x-own": "1" };
      await registry.fetch("notes")(new Request(server.url, { method: "POST", body, headers }));
      expect(server.requests.map(({ message }) => JSON.stringify(message))).toEqual([body, body]);
      expect(server.requests.map((request) => request.headers["x-own"])).toEqual(["1", "1"]);
      expect(authorizations(server)).toEqual(["Bearer token-1", "Bearer token-2"]);
    },
  );

  test.each(sessions)(
    "follows no redirect, which would take the headers along: %s",
    async (session) => {
      const [server, other] = [await startNotebookServer(), await startNotebookServer()];
      server.intercept(
        (_, response) => void response.writeHead(307, { location: other.url }).end(),
      );
      const headers = { "x-api-key": "key" };
      const { provider } = startApplication({ notes: notebook(server, { headers, session }) });
      const fetch = provider.create({ principal: alice }).fetch("notes");
      await expect(fetch(server.url, { method: "POST", body: "{}" })).rejects.toMatchObject({
        code: "CONNECTION_UNAVAILABLE",
        data: { reason: "redirect", connection: "notes", origin: server.origin },
      });
      expect(other.requests).toEqual([]);
    },
  );
});
