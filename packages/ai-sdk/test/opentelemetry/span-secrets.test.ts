import { inspect } from "node:util";
import { context, propagation } from "@opentelemetry/api";
import { beforeEach, describe, expect, test } from "vitest";
import { collectSpans } from "../../../sessions/test/collect-spans.ts";
import { type ReceivedRequest, sendJson, sendText } from "../../../core/test/http-server.ts";
import {
  type Interceptor,
  on,
  startNotebookServer,
} from "../../../sessions/test/notebook-server.ts";
import { callTool, startApplication } from "../step.ts";
import { defineMcpClientConnection } from "../../src/index.ts";
import { openTelemetry } from "../../../sessions/src/opentelemetry/index.ts";

const { spans, reset } = collectSpans();
beforeEach(reset);

const principal = { type: "user", issuer: "https://canary-issuer", id: "canary-user" } as const;

/** All that a server could repeat of a request. */
const echo = ({ headers, message }: ReceivedRequest) =>
  ["authorization", "x-api-key", "mcp-session-id"]
    .map((name) => `${name}: ${String(headers[name])}`)
    .concat(JSON.stringify(message?.params ?? {}))
    .join(", ");

const echoes: [string, Interceptor][] = [
  ["401, as text", (request, response) => sendText(response, 401, echo(request))],
  ["404, as text", (request, response) => sendText(response, 404, echo(request))],
  ["500, as text", (request, response) => sendText(response, 500, echo(request))],
  [
    "400, as JSON-RPC",
    (request, response) => {
      const error = { code: -32000, message: echo(request), data: echo(request) };
      sendJson(response, 400, { jsonrpc: "2.0", id: request.message?.id ?? null, error });
    },
  ],
  [
    "result that is an error",
    on("tools/call", (request, response) => {
      const content = [{ type: "text", text: echo(request) }];
      const result = { content, isError: true };
      sendJson(response, 200, { jsonrpc: "2.0", id: request.message.id, result });
    }),
  ],
  [
    "JSON-RPC error",
    on("tools/call", (request, response) => {
      const error = { code: -32603, message: echo(request), data: echo(request) };
      sendJson(response, 200, { jsonrpc: "2.0", id: request.message.id, error });
    }),
  ],
];

/** All there is in the spans, and all that an exporter could write of them. */
function printed(): string {
  return spans()
    .flatMap((span) => {
      const { name, attributes, events, links, status, resource } = span;
      return [
        JSON.stringify({ name, attributes, events, links, status, resource: resource.attributes }),
        inspect(span, { depth: Infinity, showHidden: true }),
      ];
    })
    .join("\n");
}

describe("no session id, token, principal, argument or result is in a span", () => {
  test.each(echoes)("when the server repeats them in a %s", async (_, handler) => {
    const server = await startNotebookServer();
    const application = startApplication(
      {
        notes: defineMcpClientConnection({
          url: `${server.url}?key=canary-query`,
          description: "A notebook.",
          session: "stateful",
          auth: { getToken: () => ({ token: "canary-token" }) },
          headers: { "x-api-key": () => "canary-api-key" },
        }),
      },
      { telemetry: openTelemetry({ propagate: true }) },
    );
    const bag = propagation.createBaggage({ user: { value: "canary-baggage" } });
    const use = async (registry: any) => {
      const tools = await registry.tools();
      const call = async () => {
        await callTool(tools, "notes__add_note", { text: "canary-argument" }).catch(
          () => undefined,
        );
        await callTool(tools, "notes__list_notes").catch(() => undefined);
      };
      await call();
      server.forgetSessions();
      await call();
      server.intercept(handler);
      await call();
      const client = await registry.client("notes");
      const direct = { name: "add_note", arguments: { text: "canary-argument" } };
      await client.callTool(direct).catch(() => undefined);
      server.intercept(() => "next");
    };
    await context.with(propagation.setBaggage(context.active(), bag), async () => {
      const session = await application.step({}, use, principal);
      await application.step(session, use, principal);
      server.intercept(handler);
      await application.step({}, (registry) => registry.tools(), principal);
    });

    const names = new Set(spans().map(({ name }) => name));
    expect(names).toEqual(
      new Set([
        "initialize",
        "tools/list",
        "tools/call add_note",
        "tools/call list_notes",
        "recover",
      ]),
    );
    expect(spans().some(({ attributes }) => attributes["error.type"] !== undefined)).toBe(true);
    expect(printed()).not.toMatch(/canary|secret-session|mcp\.session\.id/);
    for (const id of server.sessionIds) expect(printed()).not.toContain(id);
    // The server, at least, was told some of it.
    expect(JSON.stringify(server.requests.map(({ headers }) => headers))).toContain("canary-token");
    expect(JSON.stringify(server.requests.map(({ message }) => message))).not.toContain(
      "canary-baggage",
    );
  });

  test("when the token cannot be had", async () => {
    const { url } = await startNotebookServer();
    const secret = Object.assign(new Error("canary-message"), { name: "canary-name" });
    const application = startApplication(
      {
        notes: defineMcpClientConnection({
          url,
          description: "A notebook.",
          auth: { getToken: () => Promise.reject(secret) },
        }),
      },
      { telemetry: openTelemetry() },
    );
    await application.step({}, (registry) => registry.tools(), principal);
    expect(spans()).toHaveLength(2);
    expect(printed()).not.toMatch(/canary/);
  });
});
