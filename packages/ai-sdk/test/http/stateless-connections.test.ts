import { createMCPClient } from "@ai-sdk/mcp";
import { describe, expect, test } from "vitest";
import {
  type NotebookServer,
  on,
  startNotebookServer,
} from "../../../sessions/test/notebook-server.ts";
import { alice, callTool, startApplication } from "../step.ts";
import { defineMcpClientConnection, type McpClientConnectionOptions } from "../../src/index.ts";

const define = ({ url }: { url: string }, options: Partial<McpClientConnectionOptions> = {}) =>
  defineMcpClientConnection({ url, description: "A server.", session: "stateless", ...options });

/** What arrived, with what could tell one client from another. */
function requestsOf({ requests, sessionIds }: NotebookServer) {
  return requests
    .filter(({ method }) => method !== "GET") // The stream is opened whenever it is.
    .map(({ method, headers, message }) => ({
      method,
      message,
      session: sessionIds.indexOf(String(headers["mcp-session-id"])),
      headers: Object.keys(headers)
        .filter((name) => !["connection", "keep-alive"].includes(name))
        .toSorted(),
      userAgent: headers["user-agent"],
    }));
}

describe("a stateless connection", () => {
  test.each<[string, Partial<McpClientConnectionOptions>]>([
    ["by itself", {}],
    ["with a token", { auth: { getToken: () => ({ token: "token-1" }) } }],
    ["with a fetch", { fetch: (input, init) => fetch(input, init) }],
    ["with headers", { headers: { "x-api-key": () => "key" } }],
  ])("sends what @ai-sdk/mcp sends, %s", async (_, options) => {
    const [plain, ours] = [await startNotebookServer(), await startNotebookServer()];
    const client = await createMCPClient({
      transport: {
        type: "http",
        url: plain.url,
        headers: {
          ...(options.auth && { authorization: "Bearer token-1" }),
          ...(options.headers && { "x-api-key": "key" }),
        },
      },
      clientName: "durable-mcp",
    });
    const tools = await client.tools();
    await callTool(tools, "add_note", { text: "a" });
    await client.close();

    const application = startApplication({ plain: define(ours, options) });
    const session = await application.step({}, async (registry) => {
      await callTool(await registry.tools(), "plain__add_note", { text: "a" });
    });
    expect(requestsOf(ours)).toEqual(requestsOf(plain));
    expect(requestsOf(ours)).toHaveLength(6);
    expect(session).toEqual({});
    expect(application.events).toEqual([]);
  });

  test("neither reads nor writes the state", async () => {
    const server = await startNotebookServer();
    const { provider } = startApplication({ plain: define(server) });
    const session = {
      state: { mcpSessions: { '["plain","user","https://idp.test","alice"]': 1 } },
    };
    const registry = provider.create({ state: session.state, principal: alice });
    await registry.tools();
    await registry.dispose();
    expect(provider.commit(registry, session)).toBe(session);
  });

  test.each([undefined, { getToken: () => ({ token: "token-1" }) }])(
    "never sends a call twice: auth %j",
    async (auth) => {
      for (const status of [400, 403, 404, 429, 500, 503]) {
        const server = await startNotebookServer();
        const { provider } = startApplication({ plain: define(server, { auth }) });
        await using registry = provider.create({});
        const tools = await registry.tools();
        server.requests.length = 0;
        server.intercept(on("tools/call", (_, response) => void response.writeHead(status).end()));
        await expect(callTool(tools, "plain__list_notes")).rejects.toThrow(String(status));
        expect(server.log).toEqual(["POST tools/call"]);
      }
    },
  );
});
