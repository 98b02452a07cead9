import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { ada, createApplication, errorOf } from "../test/application.ts";
import { startHandMadeServer } from "../test/hand-made-server.ts";

/** A server whose `/mcp` takes its own tokens alone, and a client that is to call it. */
async function connected({ isSignedIn = true } = {}) {
  const server = await startHandMadeServer();
  const calls: { path: string; method: string; token: string | undefined; body: string }[] = [];
  server.rules.onRequest = (request, response) => {
    if (!/^\/(?:mcp|other|moved)/.test(request.url!)) return false;
    const token = request.headers.authorization?.replace("Bearer ", "");
    const call = { path: request.url!, method: request.method!, token, body: "" };
    calls.push(call);
    if (request.url === "/moved" || request.headers["x-moved"]) {
      response.writeHead(307, { location: `${server.origin}/other` }).end();
    } else if (request.headers["x-scope"] && server.accepts(token)) {
      const challenge = 'Bearer error="insufficient_scope", scope="notes:delete"';
      response.writeHead(403, { "www-authenticate": challenge }).end();
    } else if (server.accepts(token)) {
      response.end(JSON.stringify({ token }));
    } else {
      response.writeHead(401, { "www-authenticate": 'Bearer scope="notes:read"' }).end("locked");
    }
    return true;
  };
  const app = createApplication({ url: server.url });
  if (isSignedIn) await app.callback(server.consent(await app.begin()));
  const sent: string[] = [];
  const connection = app.oauth.connect({
    ...{ principal: ada, url: server.url, connection: "notes", sessionId: "chat-1" },
    fetch: async (input, init) => {
      const request = new Request(input, init);
      sent.push(await request.clone().text());
      return await fetch(request);
    },
  });
  const token = (await app.getToken())?.token;
  return { server, app, calls, sent, token, ...connection };
}

test("puts the stored token in, in the place of the client's own", async () => {
  const { fetch, server, calls, token } = await connected();
  const headers = { authorization: "Bearer of-the-client" };
  for (const input of [server.url, new URL(server.url), new Request(server.url)]) {
    expect(await (await fetch(input, { headers })).json()).toEqual({ token });
  }
  expect(calls.map((call) => call.token)).toEqual([token, token, token]);
});

/** The server takes the tokens of before no more, and refreshes all the same. */
function expire(
  server: Awaited<ReturnType<typeof startHandMadeServer>>,
  token: string | undefined,
) {
  const { onRequest } = server.rules;
  server.rules.onRequest = (request, response) => {
    if (request.headers.authorization !== `Bearer ${token}`) return onRequest!(request, response);
    return onRequest!(
      Object.assign(request, { headers: { authorization: "Bearer old" } }),
      response,
    );
  };
}

test.each([
  ["a text", () => ({ method: "POST", body: "call" })],
  ["a Request", () => new Request("http://127.0.0.1", { method: "POST", body: "call" })],
])("sends %s once more with another token after a 401", async (name, body) => {
  const { fetch, server, calls, sent, token } = await connected();
  expire(server, token);
  const init = body();
  const response =
    name === "a Request"
      ? await fetch(new Request(server.url, init))
      : await fetch(server.url, init);
  const { token: fresh } = (await response.json()) as { token: string };
  expect(fresh).not.toBe(token);
  expect(calls.map((call) => call.token)).toEqual(["old", fresh]);
  expect(sent).toEqual(["call", "call"]);
  expect(server.refreshes()).toHaveLength(1);
});

test("takes the token out of the words of a refusal", async () => {
  const { server, fetch, token } = await connected();
  const { onRequest } = server.rules;
  server.rules.onRequest = (request, response) => {
    if (request.headers["x-echo"] === undefined) return onRequest!(request, response);
    response.writeHead(400).end(`No: ${request.headers.authorization}`);
    return true;
  };
  const response = await fetch(server.url, { headers: { "x-echo": "1" } });
  expect(response.status).toBe(400);
  expect(await response.text()).toBe("No: Bearer [removed]");
  expect(token).toBeDefined();
});

test("does not send a stream twice", async () => {
  const { fetch, server, calls, sent, token } = await connected();
  expire(server, token);
  const body = new Blob(["call"]).stream();
  const response = await fetch(server.url, { method: "POST", body, duplex: "half" } as RequestInit);
  expect(response.status).toBe(401);
  expect(sent).toEqual(["call"]);
  expect(calls).toHaveLength(1);
  // The next request does not meet the same refusal.
  expect((await fetch(server.url, { method: "POST", body: "next" })).status).toBe(200);
});

test("throws where the user has to sign in, and does so for a 403, too", async () => {
  const locked = await connected({ isSignedIn: false });
  expect(locked.calls).toEqual([]);
  const { code, data } = await errorOf(locked.fetch(locked.server.url));
  expect(code).toBe("AUTHORIZATION_REQUIRED");
  expect(data).toMatchObject({ connection: "notes", scopes: ["notes:read"] });
  expect(locked.calls).toHaveLength(1);
  // Known now, so the server is not asked.
  expect((await errorOf(locked.fetch(locked.server.url))).code).toBe("AUTHORIZATION_REQUIRED");
  expect(locked.calls).toHaveLength(1);

  const { fetch, server } = await connected();
  const refused = await errorOf(fetch(server.url, { headers: { "x-scope": "1" } }));
  expect(refused).toMatchObject({ code: "AUTHORIZATION_REQUIRED" });
  expect(refused.data.scopes).toContain("notes:delete");
});

test("refuses other origins and redirects, before a token goes there", async () => {
  const { fetch, server, calls, token } = await connected();
  const elsewhere = await startHandMadeServer();
  expect(await errorOf(fetch(`${elsewhere.origin}/mcp`))).toMatchObject({
    code: "CONNECTION_UNAVAILABLE",
    data: { reason: "other-origin", connection: "notes", origin: elsewhere.origin },
  });
  expect(elsewhere.requests).toEqual([]);
  const moved = await errorOf(
    fetch(server.url, { headers: { "x-moved": "1" }, redirect: "follow" }),
  );
  expect(moved).toMatchObject({
    code: "CONNECTION_UNAVAILABLE",
    data: { reason: "redirect", status: 307 },
  });
  expect(moved.message).not.toContain(token);
  expect(calls.map(({ path }) => path)).toEqual(["/mcp"]);
});

test("gives no token to other paths of the server", async () => {
  const { fetch, server, calls } = await connected();
  const headers = { authorization: "Bearer of-the-client" };
  const response = await fetch(`${server.origin}/other`, { headers });
  expect(response.status).toBe(401);
  expect(await text(response.body as never)).toBe("locked");
  expect(calls).toMatchObject([{ path: "/other", token: undefined }]);
  expect(server.refreshes()).toEqual([]);
});

test("gives clients a provider that has nothing to lose", async () => {
  const { authProvider, app, server, token } = await connected();
  expect(await authProvider.tokens()).toEqual({ access_token: token, token_type: "Bearer" });
  const { redirectUrl: _, clientMetadata: __, tokens: ___, ...ofOwnSignIn } = authProvider;
  // The client was refused. The first member that it calls renews the token, and its sign-in ends.
  for (const member of Object.values(ofOwnSignIn)) {
    expect(await errorOf(member())).toMatchObject({
      code: "CONNECTION_UNAVAILABLE",
      data: { connection: "notes", reason: "authorization-required" },
      message: expect.stringContaining("`fetch`"),
    });
  }
  expect(server.refreshes()).toHaveLength(1);
  const next = await authProvider.tokens();
  expect(next?.access_token).toBe((await app.getToken())?.token);
  expect(next?.access_token).not.toBe(token);

  await app.oauth.signOut({ principal: ada, connection: "notes" });
  expect(await authProvider.tokens()).toBeUndefined();
  expect(await errorOf(authProvider.discoveryState())).toMatchObject({
    code: "AUTHORIZATION_REQUIRED",
  });
});

test("leaves no answer open where it throws", async () => {
  const { app, server } = await connected({ isSignedIn: false });
  const isLeft = Promise.withResolvers<string>();
  const body = new ReadableStream({ cancel: () => isLeft.resolve("left") });
  const { fetch } = app.oauth.connect({
    ...{ principal: ada, url: server.url },
    fetch: () => Promise.resolve(new Response(body, { status: 401 })),
  });
  expect((await errorOf(fetch(server.url))).code).toBe("AUTHORIZATION_REQUIRED");
  expect(await isLeft.promise).toBe("left");
});

test("needs a principal", async () => {
  const { app, server } = await connected();
  expect(() => app.oauth.connect({ principal: undefined as never, url: server.url })).toThrow(
    expect.objectContaining({ code: "PRINCIPAL_REQUIRED" }),
  );
});
