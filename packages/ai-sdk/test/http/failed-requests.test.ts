import type { ServerResponse } from "node:http";
import { McpSessionError } from "@durable-mcp/core";
import type { OAuthClientProvider } from "@ai-sdk/mcp";
import { describe, expect, test } from "vitest";
import { type ReceivedRequest, sendJson, sendText } from "../../../core/test/http-server.ts";
import { startNotebookServer } from "../../../sessions/test/notebook-server.ts";
import { notebook } from "../saved-session.ts";
import { callTool, startApplication } from "../step.ts";
import {
  type ConnectionRun,
  defineMcpClientConnection,
  type McpClientConnectionOptions,
} from "../../src/index.ts";

type Answer = (request: ReceivedRequest, response: ServerResponse) => void;

const asText =
  (status: number): Answer =>
  (_, response) =>
    sendText(response, status, "Not\nnow.");
const asJsonRpc =
  (status: number): Answer =>
  (_, response) =>
    sendJson(response, status, {
      jsonrpc: "2.0",
      id: null,
      error: { code: -32000, message: "Not now." },
    });
const asJsonRpcAnswer =
  (status: number): Answer =>
  ({ message }, response) =>
    sendJson(response, status, {
      jsonrpc: "2.0",
      id: message?.id,
      error: { code: -32000, message: "Not now." },
    });
const asPage =
  (status: number): Answer =>
  (_, response) =>
    void response
      .writeHead(status, { "content-type": "text/html" })
      .end("<html><title>canary</title></html>");

/** How the server fails every request, and what the errors and events say. */
const faults: (readonly [
  name: string,
  answer: Answer,
  said: { reason: string; status?: number },
  RegExp,
])[] = [
  ...[401, 403, 429, 500, 503].flatMap((status): (typeof faults)[number][] => {
    const reason = status === 401 ? "authorization-required" : "refused";
    const words =
      status === 401 ? "requires authorization \\(HTTP 401\\)" : `refused with HTTP ${status}`;
    const message = new RegExp(`at http://127\\.0\\.0\\.1:\\d+ ${words}, and says "Not now\\."`);
    return [
      [`${status} in a text`, asText(status), { reason, status }, message],
      [`${status} in JSON-RPC`, asJsonRpc(status), { reason, status }, message],
      ...(status < 500
        ? [
            [
              `${status} in JSON-RPC for the request`,
              asJsonRpcAnswer(status),
              { reason, status },
              message,
            ] as const,
          ]
        : []),
    ];
  }),
  ["a page with 502", asPage(502), { reason: "refused", status: 502 }, /refused with HTTP 502\. /],
  [
    "a page with 200",
    asPage(200),
    { reason: "not-mcp", status: 200 },
    /did not answer with MCP \(HTTP 200\)/,
  ],
];

/** The ways to use a connection. Each sends a request. */
const uses: [name: string, use: (registry: ConnectionRun, tools: any) => Promise<unknown>][] = [
  ["a tool", (_, tools) => callTool(tools, "notes__list_notes")],
  ["a call", (registry) => registry.call("notes", "list_notes")],
  [
    "a tool of the client",
    async (registry) => {
      const client: any = await registry.client("notes");
      const tools = client.toolsFromDefinitions({
        tools: [{ name: "list_notes", inputSchema: { type: "object" } }],
      });
      return await tools.list_notes.execute({}, { toolCallId: "1", messages: [] });
    },
  ],
  [
    "callTool of the client",
    async (registry) =>
      await (await registry.client("notes")).callTool({ name: "list_notes", arguments: {} }),
  ],
  [
    "listResources of the client",
    async (registry) => await (await registry.client("notes")).listResources(),
  ],
];

const kinds: [string, Partial<McpClientConnectionOptions>][] = [
  ["stateful", { session: "stateful" }],
  ["stateless", { session: "stateless" }],
];

const withResources = (mcp: any) => {
  mcp.registerTool("list_notes", { description: "Lists." }, () => ({
    content: [{ type: "text", text: "" }],
  }));
  mcp.registerResource("note", "note://1", {}, () => ({ contents: [] }));
};

async function start(options: Partial<McpClientConnectionOptions>) {
  const isSessionless = options.session === "stateless";
  const server = await startNotebookServer({ setUp: withResources, isSessionless });
  const notes = defineMcpClientConnection({ url: server.url, description: "Notes.", ...options });
  return { server, application: startApplication({ notes }) };
}

describe.each(kinds)("a request that fails in a step, %s:", (_, options) => {
  test.each(faults)("%s", async (_name, answer, said, message) => {
    const { server, application } = await start(options);
    const session = await application.step({}, (registry) => registry.tools());
    await application.step(session, async (registry) => {
      const tools = await registry.tools();
      await registry.client("notes");
      server.intercept(answer);
      for (const [name, use] of uses) {
        application.takeEvents();
        const error = await use(registry, tools).catch((thrown: unknown) => thrown);
        expect([name, McpSessionError.isInstance(error)]).toEqual([name, true]);
        expect(error).toMatchObject({
          code: "CONNECTION_UNAVAILABLE",
          message: expect.stringMatching(message),
          data: { connection: "notes", origin: server.origin, ...said },
          cause: expect.anything(),
        });
      }
    });
  });

  test("is one event each, without the cause", async () => {
    const { server, application } = await start(options);
    await application.step({}, async (registry) => {
      const tools = await registry.tools();
      await registry.client("notes");
      server.intercept(asText(503));
      for (const [name, use] of uses) {
        application.events.length = 0;
        const thrown = (await use(registry, tools).catch((error: unknown) => error)) as Error;
        const told = application.events.filter(({ type }) => type === "unavailable");
        const { message } = thrown;
        expect([name, told]).toMatchObject([
          name,
          [{ connection: "notes", reason: "refused", error: { message, data: { status: 503 } } }],
        ]);
        expect(told[0]).not.toHaveProperty("error.cause");
      }
    });
  });

  test("because the server is down", async () => {
    const { server, application } = await start(options);
    await application.step({}, async (registry) => {
      const tools = await registry.tools();
      await registry.client("notes");
      await server.close();
      // Connections that were open break once.
      await registry.call("notes", "list_notes").catch(() => undefined);
      for (const [name, use] of uses) {
        application.events.length = 0;
        const error = await use(registry, tools).catch((thrown: unknown) => thrown);
        expect([name, error]).toMatchObject([
          name,
          { code: "CONNECTION_UNAVAILABLE", data: { connection: "notes", reason: "refused" } },
        ]);
        expect(String(error)).toContain("ECONNREFUSED");
        expect(application.takeEvents()).toEqual(["unavailable"]);
      }
    });
  });

  test("with the server's own JSON-RPC error is that error, and no event", async () => {
    const { server, application } = await start(options);
    await application.step({}, async (registry) => {
      const tools = await registry.tools();
      await registry.client("notes");
      for (const status of [200, 400, 500]) {
        server.intercept((request, response) => {
          const error = { code: -32603, message: "Oops" };
          sendJson(response, status, { jsonrpc: "2.0", id: request.message?.id, error });
        });
        application.takeEvents();
        for (const [, use] of uses) {
          await expect(use(registry, tools)).rejects.toMatchObject({
            name: "MCPClientError",
            code: -32603,
          });
        }
        expect(application.takeEvents()).toEqual([]);
      }
    });
  });

  test("by an abort of the caller is the abort, and no event", async () => {
    const { server, application } = await start(options);
    await application.step({}, async (registry) => {
      const tools = await registry.tools();
      const client = await registry.client("notes");
      server.intercept(() => undefined);
      application.takeEvents();
      const signal = AbortSignal.timeout(50);
      const call = { name: "list_notes", arguments: {}, options: { signal } };
      for (const aborted of [
        callTool(tools, "notes__list_notes", {}, signal),
        client.callTool(call),
        client.listResources({ options: { signal } }),
      ]) {
        const error: unknown = await aborted.catch((thrown: unknown) => thrown);
        expect(McpSessionError.isInstance(error)).toBe(false);
      }
      expect(application.takeEvents()).toEqual([]);
    });
  });
});

test("a login that is lost is no outage: authorization-required, also on a resumed step", async () => {
  const { server, application } = await start({ session: "stateful" });
  const session = await application.step({}, (registry) => registry.tools());
  const own = notebook(server, { authProvider: lostLogin });
  const later = startApplication({ notes: own });
  server.intercept(
    (_, response) => void response.writeHead(401, { "www-authenticate": "Bearer" }).end(),
  );
  await later.step(session, async (registry) => {
    const tools = await registry.tools();
    later.takeEvents();
    await expect(callTool(tools, "notes__list_notes")).rejects.toMatchObject({
      code: "CONNECTION_UNAVAILABLE",
      message: expect.stringContaining("requires authorization"),
      data: { connection: "notes", reason: "authorization-required" },
      cause: { name: "MCPClientOAuthError" },
    });
    expect(later.events).toMatchObject([{ type: "unavailable", reason: "authorization-required" }]);
  });
});

/** Has no tokens, and sends the user to a page that nobody opens. */
const lostLogin: OAuthClientProvider = {
  redirectUrl: "http://127.0.0.1/callback",
  clientMetadata: { redirect_uris: ["http://127.0.0.1/callback"] },
  tokens: () => undefined,
  saveTokens: () => undefined,
  clientInformation: () => ({ client_id: "client" }),
  redirectToAuthorization: () => undefined,
  saveCodeVerifier: () => undefined,
  codeVerifier: () => "verifier",
};
