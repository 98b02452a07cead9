import { describe, expect, test, vi } from "vitest";
import { type NotebookServer, on, startNotebookServer } from "../test/notebook-server.ts";
import { alice, bob, callForText, callTool, startApplication } from "../test/step.ts";
import {
  type ConnectionContext,
  type ConnectionToken,
  defineMcpClientConnection,
  type McpClientConnectionOptions,
} from "./define-connection.ts";

type Options = Partial<McpClientConnectionOptions>;

const notebook = ({ url }: { url: string }, options: Options = {}) =>
  defineMcpClientConnection({ url, description: "A notebook.", session: "stateful", ...options });

/** Tokens "token-1", "token-2" …, and how they were asked for. */
function countedTokens(token: (count: number) => Partial<ConnectionToken> = () => ({})) {
  const contexts: ConnectionContext[] = [];
  const getToken = (context: ConnectionContext) => {
    const count = contexts.push(context);
    return Promise.resolve({ token: `token-${count}`, ...token(count) });
  };
  return { contexts, auth: { getToken } };
}

const authorizations = ({ requests }: NotebookServer) =>
  requests.map(({ headers }) => headers.authorization);

/** Refuses the next `times` requests for this method with 401. */
function refuse(server: NotebookServer, method: string, times: number): void {
  let left = times;
  server.intercept(
    on(method, (_, response) => {
      if (left === 0) return "next";
      left -= 1;
      response.writeHead(401).end("who are you");
      return undefined;
    }),
  );
}

describe("getToken", () => {
  test("is asked once a step, for its principal and connection", async () => {
    const server = await startNotebookServer();
    const { contexts, auth } = countedTokens();
    const application = startApplication({ notes: notebook(server, { auth }) });
    const use = async (registry: { tools(): Promise<any> }) => {
      const tools = await registry.tools();
      await Promise.all([1, 2, 3].map(() => callTool(tools, "notes__list_notes")));
      expect(contexts.at(-1)?.abortSignal.aborted).toBe(false);
    };
    const session = await application.step({}, use);
    expect(contexts).toHaveLength(1);
    await application.step(session, use);
    await application.step(session, use, bob);
    expect(contexts.map(({ principal }) => principal)).toEqual([alice, alice, bob]);
    expect(contexts.map(({ connection }) => connection)).toEqual(["notes", "notes", "notes"]);
    expect(contexts.map(({ abortSignal }) => abortSignal.aborted)).toEqual([true, true, true]);
  });

  test("is not asked by a step that sends nothing", async () => {
    const server = await startNotebookServer();
    const { contexts, auth } = countedTokens();
    const application = startApplication({ notes: notebook(server, { auth }) });
    const session = await application.step({}, (registry) => registry.tools());
    await application.step(session, (registry) => registry.tools());
    expect(contexts).toHaveLength(1);
  });

  test("gives the token of every request, of those that the session makes by itself too", async () => {
    const server = await startNotebookServer();
    const { auth } = countedTokens();
    const application = startApplication({ notes: notebook(server, { auth }) });
    await application.step({}, async (registry) => {
      const tools = await registry.tools();
      server.forgetSessions();
      await callTool(tools, "notes__list_notes");
      const controller = new AbortController();
      const waiting = callTool(tools, "notes__wait", {}, controller.signal);
      await vi.waitFor(() => expect(server.waits).toEqual(["started"]));
      controller.abort();
      await expect(waiting).rejects.toThrow();
      await vi.waitFor(() => expect(server.waits).toEqual(["started", "aborted"]));
    });
    expect(server.log).toEqual([
      "POST initialize",
      "POST notifications/initialized",
      "POST tools/list",
      "POST tools/call", // 404
      "POST initialize",
      "POST notifications/initialized",
      "POST tools/list",
      "POST tools/call",
      "POST tools/call",
      "POST notifications/cancelled",
    ]);
    expect(new Set(authorizations(server))).toEqual(new Set(["Bearer token-1"]));
  });

  test("works for a stateless connection, without the rest of the session fetch", async () => {
    const server = await startNotebookServer({ isSessionless: true });
    const { contexts, auth } = countedTokens();
    const stateless = notebook(server, { auth, session: "stateless" });
    const application = startApplication({ notes: stateless });
    const session = await application.step({}, async (registry) => {
      expect(await callForText(await registry.tools(), "notes__list_notes")).toBe("");
    });
    expect(session).toEqual({});
    expect(contexts).toHaveLength(1);
    expect(new Set(authorizations(server))).toEqual(new Set(["Bearer token-1"]));
  });

  test.each(["stateful", "stateless"] as const)(
    "is asked again after a 401, and the request is sent once more: %s",
    async (session) => {
      const server = await startNotebookServer();
      const { contexts, auth } = countedTokens();
      const application = startApplication({ notes: notebook(server, { auth, session }) });
      await application.step({}, async (registry) => {
        const tools = await registry.tools();
        server.requests.length = 0;
        refuse(server, "tools/call", 1);
        expect(await callForText(tools, "notes__add_note", { text: "a" })).toBe("1 notes");
        expect(authorizations(server)).toEqual(["Bearer token-1", "Bearer token-2"]);
        await callTool(tools, "notes__list_notes");
        expect(authorizations(server)[2]).toBe("Bearer token-2");

        server.requests.length = 0;
        refuse(server, "tools/call", Infinity);
        await expect(callTool(tools, "notes__list_notes")).rejects.toMatchObject({
          statusCode: 401,
        });
        expect(authorizations(server)).toEqual(["Bearer token-2", "Bearer token-3"]);
        expect(contexts).toHaveLength(3);
      });
    },
  );

  test("is asked once more for all requests that meet a 401 at the same time", async () => {
    const server = await startNotebookServer();
    const { contexts, auth } = countedTokens();
    const application = startApplication({ notes: notebook(server, { auth }) });
    await application.step({}, async (registry) => {
      const tools = await registry.tools();
      server.intercept(({ headers }, response) => {
        if (headers.authorization !== "Bearer token-1") return "next";
        response.writeHead(401).end();
        return undefined;
      });
      const texts = Array.from({ length: 5 }, () => callForText(tools, "notes__list_notes"));
      expect(await Promise.all(texts)).toEqual(["", "", "", "", ""]);
      expect(contexts).toHaveLength(2);
    });
  });

  test.each([
    ["a number", (ms: number) => ms],
    ["a date", (ms: number) => new Date(ms)],
  ])("is asked again shortly before the token expires, given as %s", async (_, expiresAt) => {
    const server = await startNotebookServer();
    let now = 1_000_000;
    const { contexts, auth } = countedTokens(() => ({ expiresAt: expiresAt(now + 60_000) }));
    const application = startApplication(
      { notes: notebook(server, { auth }) },
      { now: () => now },
    );
    await application.step({}, async (registry) => {
      const tools = await registry.tools();
      now += 49_000;
      await callTool(tools, "notes__list_notes");
      expect(contexts).toHaveLength(1);
      now += 2_000;
      await Promise.all([1, 2, 3].map(() => callTool(tools, "notes__list_notes")));
      expect(contexts).toHaveLength(2);
      expect(authorizations(server).at(-1)).toBe("Bearer token-2");
    });
  });

  test("is asked for each request when its tokens have always expired, and never in a loop", async () => {
    const server = await startNotebookServer();
    const { contexts, auth } = countedTokens(() => ({ expiresAt: 0 }));
    const application = startApplication({ notes: notebook(server, { auth }) });
    await application.step({}, (registry) => registry.tools());
    expect(contexts).toHaveLength(3);
  });

  test("is asked again after it failed", async () => {
    const server = await startNotebookServer();
    let count = 0;
    const getToken = () => {
      count += 1;
      if (count === 1) throw new Error("The vault is sealed.");
      return { token: "token-1" };
    };
    const application = startApplication({ notes: notebook(server, { auth: { getToken } }) });
    await application.step({}, async (registry) => {
      expect(await registry.tools()).toEqual({});
      expect(server.requests).toEqual([]);
      expect(Object.keys(await registry.tools())).toContain("notes__add_note");
    });
    expect(application.events).toMatchObject([
      {
        type: "unavailable",
        error: {
          code: "CONNECTION_UNAVAILABLE",
          cause: expect.objectContaining({ message: "The vault is sealed." }),
        },
      },
      { type: "started" },
    ]);
  });

  test.each([undefined, null, "token", {}, { token: "" }, { token: 1 }])(
    "has to return a token: %j",
    async (token) => {
      const server = await startNotebookServer();
      const auth = { getToken: () => token as never };
      const application = startApplication({ notes: notebook(server, { auth }) });
      await application.step({}, (registry) => registry.tools());
      expect(application.events).toMatchObject([
        { error: { code: "CONNECTION_INVALID", data: { field: "auth.getToken" } } },
      ]);
      expect(server.requests).toEqual([]);
    },
  );
});

describe("headers", () => {
  test.each(["stateful", "stateless"] as const)(
    "go with every request, their functions called once a step: %s",
    async (session) => {
      const server = await startNotebookServer();
      const contexts: ConnectionContext[] = [];
      const headers = {
        "X-Tenant": "acme",
        "x-trace": (context: ConnectionContext) => `trace-${contexts.push(context)}`,
      };
      const application = startApplication({ notes: notebook(server, { headers, session }) });
      await application.step({}, async (registry) => {
        const tools = await registry.tools();
        await Promise.all([1, 2, 3].map(() => callTool(tools, "notes__list_notes")));
        await registry.fetch("notes")(server.url, { method: "POST", body: "{}" });
      });
      expect(contexts).toMatchObject([{ principal: alice, connection: "notes" }]);
      expect(server.requests.length).toBeGreaterThan(5);
      for (const { headers } of server.requests) {
        expect(headers).toMatchObject({ "x-tenant": "acme", "x-trace": "trace-1" });
      }
    },
  );

  test.each(["stateful", "stateless"] as const)(
    "whose function fails make the connection unavailable, until it succeeds: %s",
    async (session) => {
      const server = await startNotebookServer();
      let isSealed = true;
      const headers = {
        "x-api-key": () => (isSealed ? Promise.reject(new Error("sealed")) : "key"),
      };
      const application = startApplication({ notes: notebook(server, { headers, session }) });
      await application.step({}, async (registry) => {
        expect(await registry.tools()).toEqual({});
        expect(application.takeEvents()).toEqual(["unavailable"]);
        expect(server.requests).toEqual([]);
        isSealed = false;
        expect(Object.keys(await registry.tools())).toContain("notes__add_note");
      });
    },
  );

  test.each(["stateful", "stateless"] as const)(
    "whose function returns no usable value are refused, without repeating it: %s",
    async (session) => {
      for (const value of [undefined, 1, "canary-1\r\nx-evil: 1", "canary-1 ✓"]) {
        const server = await startNotebookServer();
        const headers = { "x-api-key": () => value as string };
        const application = startApplication({ notes: notebook(server, { headers, session }) });
        await application.step({}, (registry) => registry.tools());
        expect(application.events).toMatchObject([
          { error: { code: "CONNECTION_INVALID", data: { field: "headers.x-api-key" } } },
        ]);
        expect(server.requests).toEqual([]);
      }
    },
  );

  test("do not replace the token", async () => {
    const server = await startNotebookServer();
    const { auth } = countedTokens();
    const headers = { Authorization: "Basic abc" };
    const application = startApplication({ notes: notebook(server, { auth, headers }) });
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
    for (const { headers } of server.requests) {
      expect(headers).not.toHaveProperty("authorization");
      expect(headers).not.toHaveProperty("x-api-key");
    }
  });

  test.each(sessions)("refuses other origins without a fetch of the application's: %s", async (session) => {
    const [server, other] = [await startNotebookServer(), await startNotebookServer()];
    const { auth } = countedTokens();
    const { provider } = startApplication({ notes: notebook(server, { auth, session }) });
    const fetch = provider.create({ principal: alice }).fetch("notes");
    for (const input of [other.url, new URL(other.url), new Request(other.url)]) {
      await expect(fetch(input)).rejects.toMatchObject({
        code: "FETCH_REQUIRED",
        data: { origin: other.origin },
      });
    }
    expect(other.requests).toEqual([]);
  });

  test.each(sessions)("goes to other origins with a fetch of the application's, without token: %s", async (session) => {
    const [server, other] = [await startNotebookServer(), await startNotebookServer()];
    other.intercept((_, response) => void response.writeHead(200).end());
    const { auth } = countedTokens();
    const urls: string[] = [];
    const own: typeof fetch = (input, init) => {
      urls.push(input instanceof Request ? input.url : String(input));
      return fetch(input, init);
    };
    const { provider } = startApplication({ notes: notebook(server, { auth, session, fetch: own }) });
    await using registry = provider.create({ principal: alice });
    await registry.tools();
    expect(new Set(urls)).toEqual(new Set([server.url]));
    await registry.fetch("notes")(other.url, { method: "POST", body: "{}" });
    expect(urls.at(-1)).toBe(other.url);
    expect(authorizations(other)).toEqual([undefined]);
  });

  test.each(sessions)("sends a Request once more after a 401, with its body: %s", async (session) => {
    const server = await startNotebookServer();
    const { auth } = countedTokens();
    const { provider } = startApplication({ notes: notebook(server, { auth, session }) });
    await using registry = provider.create({ principal: alice });
    refuse(server, "POST", 1);
    const body = '[{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}]';
    const headers = { "content-type": "application/json", "x-own": "1" };
    await registry.fetch("notes")(new Request(server.url, { method: "POST", body, headers }));
    expect(server.requests.map(({ message }) => JSON.stringify(message))).toEqual([body, body]);
    expect(server.requests.map(({ headers }) => headers["x-own"])).toEqual(["1", "1"]);
    expect(authorizations(server)).toEqual(["Bearer token-1", "Bearer token-2"]);
  });

  test.each(sessions)("follows no redirect, which would take the headers along: %s", async (session) => {
    const [server, other] = [await startNotebookServer(), await startNotebookServer()];
    server.intercept((_, response) => void response.writeHead(307, { location: other.url }).end());
    const headers = { "x-api-key": "key" };
    const { provider } = startApplication({ notes: notebook(server, { headers, session }) });
    const fetch = provider.create({ principal: alice }).fetch("notes");
    await expect(fetch(server.url, { method: "POST", body: "{}" })).rejects.toMatchObject({
      code: "REDIRECT_REFUSED",
      data: { origin: server.origin, status: 307 },
    });
    expect(other.requests).toEqual([]);
  });

  test("does not send a stream twice", async () => {
    const server = await startNotebookServer();
    const { auth } = countedTokens();
    const { provider } = startApplication({
      notes: notebook(server, { auth, session: "stateless" }),
    });
    refuse(server, "POST", 1);
    const body = new Response('{"jsonrpc":"2.0"}').body;
    const response = await provider
      .create({})
      .fetch("notes")(server.url, { method: "POST", body, duplex: "half" } as RequestInit);
    expect(response.status).toBe(401);
    expect(await response.text()).toBe("who are you");
    expect(server.requests).toHaveLength(1);
  });
});
