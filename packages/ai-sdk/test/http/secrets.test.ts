import { inspect } from "node:util";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { escapedForms } from "../../../sessions/test/escaped-forms.ts";
import { type ReceivedRequest, sendJson, sendText } from "../../../core/test/http-server.ts";
import {
  type Interceptor,
  on,
  startNotebookServer,
} from "../../../sessions/test/notebook-server.ts";
import { startNotes } from "../saved-session.ts";
import { callTool, startApplication } from "../step.ts";
import { defineMcpClientConnection, type McpClientConnectionOptions } from "../../src/index.ts";

const principal = { type: "user", issuer: "https://canary-issuer", id: "canary-user" } as const;
const auth = { getToken: () => ({ token: `canary-token/+&<='` }) };
const headers = { "x-api-key": () => `canary-api-key "&<=`, "x-pass": "password canary2/+" };
/** Express repeats it in "Cannot POST". */
const query = "?api_key=canary%2Fquery%3D&other=canary/query%20%2B";

const fail = () => Promise.reject(new Error("The vault is sealed."));

const refused = {
  getToken: () =>
    Promise.reject(new Error("POST /token?refresh_token=canary-refresh", { cause: "canary" })),
};

const list = async (registry: { tools: () => Promise<any> }) => {
  await callTool(await registry.tools(), "notes__list_notes");
};

const output: unknown[] = [];
beforeEach(() => {
  output.length = 0;
  for (const method of ["debug", "info", "log", "warn", "error", "trace"] as const) {
    vi.spyOn(console, method).mockImplementation((...args) => void output.push(args));
  }
});
afterEach(() => void vi.restoreAllMocks());

/** Everything an observer could print: events, errors with all causes, the console. */
function printed(seen: readonly unknown[]): string {
  return [...seen, ...output]
    .flatMap((value) => [
      inspect(value, { depth: Infinity, showHidden: true }),
      JSON.stringify(value),
      String((value as { error?: unknown }).error ?? value),
    ])
    .join("\n");
}

/** Uses a connection until nothing more can go wrong; gives all that was seen of it. */
async function useEverything(
  options: McpClientConnectionOptions,
  interceptor?: { intercept: (handler: Interceptor) => void; handler: Interceptor },
): Promise<unknown[]> {
  const application = startApplication({ notes: defineMcpClientConnection(options) });
  const errors: unknown[] = [];
  const attempt = (work: Promise<unknown>) => work.catch((error: unknown) => errors.push(error));
  const use = async (registry: any) => {
    const tools = await registry.tools();
    if (interceptor) interceptor.intercept(interceptor.handler);
    await attempt(registry.tools({ onUnavailable: "throw" }));
    await attempt(registry.client("notes"));
    if (tools.notes__list_notes) await attempt(callTool(tools, "notes__list_notes"));
    const client = await registry.client("notes").catch(() => undefined);
    if (client) await attempt(client.callTool({ name: "add_note", arguments: { text: "a" } }));
  };
  const session = await application.step({}, use, principal);
  await application.step(session, use, principal);
  return [...application.events, ...errors];
}

/** All that a server could repeat of a request. */
const echo = ({ headers: received, path }: ReceivedRequest) =>
  ["authorization", "x-api-key", "x-pass", "mcp-session-id"]
    .map((name) => {
      const value = String(received[name]);
      return `${name}: ${escapedForms(value)}, ${escapedForms(value.split(" ").at(-1)!)}`;
    })
    .concat(`Cannot POST ${path}, ${escapedForms(path)}`)
    .join(", ");

/** A JSON-RPC error with all that a server could repeat. */
const echoInError = (request: ReceivedRequest, wrap = (text: string) => text) =>
  wrap(
    JSON.stringify({
      jsonrpc: "2.0",
      id: request.message?.id ?? null,
      error: { code: -32000, message: echo(request), data: { headers: [echo(request)] } },
    }),
  );

const echoes: [string, Interceptor][] = [
  [
    "200, as a JSON-RPC error",
    (request, response) =>
      void response
        .writeHead(200, { "content-type": "application/json" })
        .end(echoInError(request)),
  ],
  [
    "200, as an event with a JSON-RPC error",
    (request, response) =>
      void response
        .writeHead(200, { "content-type": "text/event-stream" })
        .end(echoInError(request, (text) => `data: ${text}\n\n`)),
  ],
  ["400, as text", (request, response) => sendText(response, 400, echo(request))],
  ["401, as text", (request, response) => sendText(response, 401, echo(request))],
  ["404, as text", (request, response) => sendText(response, 404, echo(request))],
  ["500, as text", (request, response) => sendText(response, 500, echo(request))],
  [
    "403, as JSON-RPC",
    (request, response) =>
      sendJson(response, 403, {
        jsonrpc: "2.0",
        id: request.message?.id ?? null,
        error: { code: -32000, message: echo(request), data: { headers: echo(request) } },
      }),
  ],
];

test.each(["stateful", "stateless"] as const)(
  "no session id or token is in the result of a tool that failed: %s",
  async (session) => {
    const server = await startNotebookServer({ isSessionless: session === "stateless" });
    const url = `${server.url}${query}`;
    const application = startApplication({
      notes: defineMcpClientConnection({ url, description: "Echoes.", session, auth, headers }),
    });
    await application.step({}, async (registry) => {
      const tools = await registry.tools();
      server.intercept(
        on("tools/call", (request, response) => {
          const { authorization = "", "mcp-session-id": id } = request.headers;
          const text = escapedForms(`${authorization}, ${String(id)}`);
          const content = [{ type: "text", text }];
          const result = { isError: true, content, structuredContent: { [text]: 1 } };
          sendJson(response, 200, { jsonrpc: "2.0", id: request.message.id, result });
        }),
      );
      const text = JSON.stringify(await callTool(tools, "notes__list_notes"));
      expect(text).toContain("[redacted]");
      expect(text).not.toMatch(/canary|secret-session/);
    });
  },
);

describe("no session id, token or principal is in what an observer sees", () => {
  test.each(echoes)("when the server repeats them in a %s, from the start", async (_, handler) => {
    const server = await startNotebookServer();
    server.intercept(handler);
    const url = `${server.url}${query}`;
    const seen = await useEverything({
      url,
      description: "Echoes.",
      session: "stateful",
      auth,
      headers,
    });
    expect(seen).not.toEqual([]);
    expect(printed(seen)).not.toMatch(/canary|secret-session/);
  });

  test.each(echoes)("when the server repeats them in a %s, in a session", async (_, handler) => {
    const server = await startNotebookServer();
    const { url, intercept } = server;
    const seen = await useEverything(
      { url: `${url}${query}`, description: "Echoes.", session: "stateful", auth, headers },
      { intercept, handler },
    );
    expect(server.sessionIds).not.toEqual([]);
    expect(seen).not.toEqual([]);
    expect(printed(seen)).not.toMatch(/canary|secret-session/);
  });

  test.each(echoes)(
    "when the server of a stateless connection repeats them in a %s",
    async (_, handler) => {
      const server = await startNotebookServer({ isSessionless: true });
      const { url, intercept } = server;
      const seen = await useEverything(
        { url: `${url}${query}`, description: "Echoes.", auth, headers },
        { intercept, handler },
      );
      expect(seen).not.toEqual([]);
      expect(printed(seen)).not.toMatch(/canary/);
    },
  );

  test("when getToken or a header's function fails", async () => {
    const { url } = await startNotebookServer();
    const seen = [
      ...(await useEverything({
        url,
        description: "Sealed.",
        session: "stateful",
        auth: { getToken: fail },
        headers,
      })),
      ...(await useEverything({ url, description: "Sealed.", auth, headers: { "x-a": fail } })),
    ];
    expect(printed(seen)).toContain("The vault is sealed.");
    expect(printed(seen)).not.toMatch(/canary/);
  });

  test("when getToken fails with a secret in its error, in no event", async () => {
    const { url } = await startNotebookServer();
    for (const session of ["stateful", "stateless"] as const) {
      const application = startApplication({
        notes: defineMcpClientConnection({ url, description: "x", session, auth: refused }),
      });
      await application.step({}, (registry) => registry.tools(), principal);
      await application.step({}, (registry) => registry.instructions(), principal);
      expect(application.events.map(({ type }) => type)).toEqual(["unavailable", "unavailable"]);
      expect(printed(application.events)).not.toMatch(/canary/);
      await using registry = application.provider.create({ principal });
      // Who asks for the error gets all of it.
      for (const thrown of [registry.client("notes"), registry.tools({ onUnavailable: "throw" })]) {
        await expect(thrown).rejects.toMatchObject({
          cause: { message: expect.stringContaining("canary") },
        });
      }
    }
  });

  test("when a stateless server without a token repeats a header", async () => {
    const server = await startNotebookServer({ isSessionless: true });
    server.intercept((request, response) => sendText(response, 500, echo(request)));
    const { url } = server;
    const seen = await useEverything({ url, description: "Echoes.", headers });
    expect(seen).not.toEqual([]);
    expect(printed(seen)).toContain("[redacted]");
    expect(printed(seen)).not.toMatch(/canary/);
  });

  test.each(["canary-token\nx-evil: 1", "canary-token ✓"])(
    "when the token is not valid in a header: %j",
    async (token) => {
      const { url } = await startNotebookServer();
      for (const session of ["stateful", "stateless"] as const) {
        const seen = await useEverything({
          url,
          description: "Misread.",
          session,
          auth: { getToken: () => ({ token }) },
        });
        expect(printed(seen)).toContain("auth.getToken");
        expect(printed(seen)).not.toMatch(/canary/);
      }
    },
  );

  test("when the session starts, is resumed, lost and recovered, and the state is bad", async () => {
    const { server, application } = await startNotes({ auth, headers });
    const session = await application.step({}, list, principal);
    await application.step(session, list, principal);
    server.forgetSessions();
    await application.step(session, list, principal);
    const text = JSON.stringify(session).replace(/"version":1/, '"version":0');
    await application.step(JSON.parse(text) as object, list, principal);

    const types = application.events.map(({ type }) => type);
    expect(types).toEqual(expect.arrayContaining(["started", "resumed", "lost", "recovered"]));
    expect(types).toContain("discarded");
    expect(printed(application.events)).not.toMatch(/canary|secret-session/);
  });
});
