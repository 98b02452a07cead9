/** Each secret of a connection, in each form, at each place where text leaves. */

import { fileURLToPath } from "node:url";
import { inspect } from "node:util";
import { createMemoryStore } from "@durable-mcp/core";
import type { WaitingCall } from "@durable-mcp/core/waiting";
import { scriptedModel } from "@durable-mcp/testing/ai-sdk";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { collectEvents } from "../../test/collect-events.ts";
import { collectSpans } from "../../test/collect-spans.ts";
import { escapedForms } from "../../test/escaped-forms.ts";
import { alice, callTool, startApplication } from "../../test/step.ts";
import { confirm } from "../../../core/test/yes-or-no.ts";
import { type ReceivedRequest, sendJson, startHttpServer } from "../../../core/test/http-server.ts";
import { createDurableAgent, createDurableSessions } from "../index.ts";
import { openTelemetry } from "../opentelemetry/index.ts";
import { defineMcpStdioConnection } from "../stdio/index.ts";
import { secretsOfUrl } from "./connection-secrets.ts";
import { defineMcpClientConnection } from "./define-connection.ts";

const { spans, reset } = collectSpans();
const output: unknown[] = [];
beforeEach(() => {
  reset();
  output.length = 0;
  for (const method of ["debug", "info", "log", "warn", "error", "trace"] as const) {
    vi.spyOn(console, method).mockImplementation((...args) => void output.push(args));
  }
});
afterEach(() => void vi.restoreAllMocks());

/** With all that is escaped somewhere. */
const secretOf = (kind: string) => `canary-${kind} /+&<='`;
const basic = btoa(`user:${secretOf("basic")}`);
const kinds = ["token", "header", "function", "basic", "query", "path", "provided"];

/** Of an error its message, stack, data and causes, whether they are printed or serialized. */
const printed = (values: readonly unknown[]) =>
  values
    .flatMap((value) => [
      inspect(value, { depth: Infinity, showHidden: true, maxStringLength: null }),
      JSON.stringify(value),
      String(value),
    ])
    .join("\n");

const leaksIn = (text: string) => [
  ...new Set([...text.matchAll(/canary-(\w+)/g)].map(([, kind]) => kind)),
  ...(text.includes(basic) ? ["basic, encoded"] : []),
];

/** What a server that means no good, or well, repeats of a request. */
function echoOf({ headers, path, message }: ReceivedRequest): string {
  const password = atob(String(headers["x-basic"]).replace("Basic ", "")).replace("user:", "");
  const { key = "" } = message?.params?.arguments ?? {};
  const names = ["authorization", "x-header", "x-function", "x-basic", "mcp-session-id"];
  const values = names.map((name) => String(headers[name] ?? ""));
  return [...values, password, key, path, decodeURIComponent(path)].map(escapedForms).join("\n");
}

type Reply = object | ((request: ReceivedRequest, echo: string) => object);

/** @param reply members of the answer to a call; or of the HTTP answer: `status`, `text`, `before` */
async function startEchoes(era: "session" | "stateless", reply: Reply) {
  const echoed: string[] = [];
  const server = await startHttpServer((request, response) => {
    const { method, message } = request;
    if (method !== "POST" || message.id === undefined) {
      return void response.writeHead(method === "POST" ? 202 : 405).end();
    }
    const give = (answer: object, headers = {}) =>
      sendJson(response, 200, { jsonrpc: "2.0", id: message.id, ...answer }, headers);
    const complete = era === "stateless" && { resultType: "complete" };
    const capabilities = { tools: {}, extensions: { "io.modelcontextprotocol/tasks": {} } };
    switch (message.method) {
      case "server/discover": {
        const error = { code: -32601, message: "Method not found" };
        if (era === "session") return give({ error });
        const supportedVersions = ["2026-07-28"];
        return give({ result: { ...complete, supportedVersions, capabilities } });
      }
      case "initialize": {
        const serverInfo = { name: "echoes", version: "1.0.0" };
        const protocolVersion = "2025-11-25";
        response.setHeader("mcp-session-id", "canary-session");
        return give({ result: { protocolVersion, capabilities: { tools: {} }, serverInfo } });
      }
      // It knows its session: what it refuses is the call's own matter.
      case "ping":
        return give({ result: {} });
      case "tools/list": {
        const schema = { type: "object", properties: { key: { type: "string" } } };
        return give({ result: { ...complete, tools: [{ name: "echo", inputSchema: schema }] } });
      }
      default: {
        const echo = echoOf(request);
        echoed.push(echo);
        const given = typeof reply === "function" ? reply(request, echo) : reply;
        const { status, text, before, ...answer } = given as Record<string, any>;
        if (status) return void response.writeHead(status).end(text);
        const whole = answer["result"] && { result: { ...complete, ...answer["result"] } };
        if (!before) return give({ ...answer, ...whole });
        response.writeHead(200, { "content-type": "text/event-stream" });
        for (const each of [...before, { id: message.id, ...answer, ...whole }]) {
          response.write(`data: ${JSON.stringify({ jsonrpc: "2.0", ...each })}\n\n`);
        }
        response.end();
      }
    }
  });
  const query = new URLSearchParams({ api_key: secretOf("query"), page: "1" });
  const url = `${server.origin}/s/${encodeURIComponent(secretOf("path"))}/mcp?${query}`;
  return { url, echoed };
}

function optionsOf(url: string, era: "session" | "stateless") {
  return {
    ...{ url, description: "Echoes." },
    session: era === "session" ? ("stateful" as const) : ("stateless" as const),
    auth: { getToken: () => ({ token: secretOf("token").replace(" ", "") }) },
    headers: {
      "x-header": secretOf("header"),
      "x-function": () => secretOf("function"),
      "x-basic": `Basic ${basic}`,
    },
    providedArguments: { key: () => secretOf("provided") },
  };
}

const failedWith = (echo: string) => ({
  result: {
    ...{ isError: true, content: [{ type: "text", text: echo }] },
    structuredContent: { [echo]: [echo] },
  },
});
const log = (echo: string) => ({
  method: "notifications/message",
  params: { level: "error", data: { [echo]: echo } },
});

/** How a call fails; what is then seen is all that the application, its model and its operators get. */
const answers: [string, (request: ReceivedRequest, echo: string) => object][] = [
  ["an HTTP refusal", (_, text) => ({ status: 400, text })],
  ["a refusal of the credentials", (_, text) => ({ status: 403, text })],
  ["a failure of the server", (_, text) => ({ status: 500, text })],
  [
    "a refusal in JSON",
    ({ message }, echo) => ({
      status: 400,
      text: JSON.stringify({ jsonrpc: "2.0", id: message.id, error: { code: 1, message: echo } }),
    }),
  ],
  ["a JSON-RPC error", (_, echo) => ({ error: { code: -32000, message: echo, data: [echo] } })],
  ["a result with isError", (_, echo) => failedWith(echo)],
  ["a result with isError, on a stream", (_, echo) => ({ ...failedWith(echo), before: [] })],
  // A connection without a slot has no such event.
  ["a notification", (_, echo) => ({ ...failedWith("no"), before: [log(echo)] })],
  [
    "progress",
    ({ message }, echo) => {
      const { progressToken } = message.params["_meta"] ?? {};
      const params = { progressToken, progress: 1, message: echo };
      return { ...failedWith("no"), before: [{ method: "notifications/progress", params }] };
    },
  ],
];

describe.each(["session", "stateless"] as const)("a connection of the era %s", (era) => {
  const said = answers.filter(([name]) => era === "session" || name !== "a notification");
  test.each(said)("keeps its secrets when the server repeats them in %s", async (_, reply) => {
    const { url, echoed } = await startEchoes(era, reply);
    const seen: unknown[] = [];
    const keep = async (work: Promise<unknown>) => void seen.push(await work.catch((e) => e));
    const options = {
      ...optionsOf(url, era),
      onProgress: (progress: object) => seen.push(progress),
    };
    for (const isHeard of [true, false]) {
      const application = startApplication(
        { echoes: defineMcpClientConnection(options) },
        { telemetry: openTelemetry(), ...(!isHeard && { onEvent: undefined }) },
      );
      await application.step({}, async (run) => {
        await keep(callTool(await run.tools(), "echoes__echo"));
        await keep(run.call("echoes", "echo"));
        const client = await run.client("echoes");
        const use = { name: "echo", arguments: { key: "own" } };
        await keep(client.callTool(use));
        const own = client.toolsFromDefinitions(await client.listTools());
        await keep(callTool(own, "echo"));
      });
      seen.push(...application.events);
    }
    const ofSpans = spans().map(({ attributes, events, status }) => ({
      attributes,
      events,
      status,
    }));
    const sent = [...kinds, ...(era === "session" ? ["session"] : [])];
    expect(leaksIn(echoed.join("\n"))).toEqual(expect.arrayContaining(sent));
    const text = printed([...seen, ...ofSpans, ...output]);
    expect(text.includes("[redacted]")).toBe(true);
    expect(leaksIn(text)).toEqual([]);
  });
});

/** What a server says of a call that waits: its first answer, and the next one. */
const waits: [string, (request: ReceivedRequest, echo: string) => object][] = [
  ["a task's message", (_, statusMessage) => ({ status: "working", statusMessage })],
  ["a task's status", (_, status) => ({ status, statusMessage: "[redacted]" })],
  ["a task's failure", (_, message) => ({ status: "failed", error: { code: 1, message } })],
  ["a task's result", (_, echo) => ({ status: "completed", ...failedWith(echo) })],
  ["the result of a leg", (_, echo) => failedWith(echo).result],
];
const yes = { confirm: { action: "accept", content: { ok: true } } } as const;
const question = { method: "elicitation/create", params: confirm.params };

describe("a call that waits keeps the secrets of its connection", () => {
  test.each(waits)("when the server repeats them in %s", async (name, reply) => {
    const task = {
      taskId: "canary-task",
      createdAt: new Date().toISOString(),
      pollIntervalMs: 100,
    };
    let ofCall = "";
    const { url, echoed } = await startEchoes("stateless", (request, echo) => {
      const { method, params } = request.message;
      const isCall = method === "tools/call" && params.inputResponses === undefined;
      if (!isCall) {
        const said = reply(request, `${ofCall}\n${echo}`);
        return { result: { resultType: "complete", ...task, ...said } };
      }
      ofCall = echo;
      return name === "the result of a leg"
        ? { result: { resultType: "input_required", inputRequests: { confirm: question } } }
        : { result: { resultType: "task", ...task, status: "working" } };
    });
    const { onEvent, events } = collectEvents();
    const sessions = createDurableSessions({
      connections: {
        echoes: defineMcpClientConnection({
          ...optionsOf(url, "stateless"),
          waiting: { afterMs: 1 },
        }),
      },
      ...{ store: createMemoryStore(), onEvent, telemetry: openTelemetry() },
    });
    const use = { principal: alice };
    const options = { sessionId: "chat", ...use };
    const first = scriptedModel([{ tool: "echoes__echo", input: {} }], "It takes longer.");
    const asked = [{ role: "user" as const, content: "Go." }];
    const agentOf = (model: typeof first) => createDurableAgent({ sessions, model });
    const { responseMessages } = await agentOf(first).generate({ messages: asked, options });
    await new Promise((resolve) => setTimeout(resolve, 150));
    const [{ id }] = (await sessions.waiting("chat", use)) as [WaitingCall];
    const checked =
      name === "the result of a leg"
        ? await sessions.answer("chat", id, yes, use)
        : await sessions.check("chat", use);
    const listed = await sessions.waiting("chat", use);
    const messages = [...asked, ...responseMessages];
    const last = scriptedModel("Done.");
    await agentOf(last).generate({ messages, options });
    const prompts = [first, last].map(({ doGenerateCalls }) => doGenerateCalls);
    expect(leaksIn(echoed.join("\n"))).toEqual(expect.arrayContaining(kinds));
    const shown = printed([
      checked,
      listed,
      events,
      prompts,
      ...spans().map((s) => s.events),
      output,
    ]);
    expect(shown.includes("[redacted]")).toBe(true);
    expect(leaksIn(shown)).toEqual([]);
  });
});

const program = (...args: string[]) =>
  defineMcpStdioConnection({
    command: process.execPath,
    args: [
      fileURLToPath(new URL("../../test/echoing-program.ts", import.meta.url)),
      `--api-key=${secretOf("argument")}`,
      "https://mcp.test/s/canary-address/mcp?token=canary-search",
      ...args,
    ],
    description: "A program.",
    env: { KEY: secretOf("env"), LATER: () => secretOf("function") },
    providedArguments: { key: () => secretOf("provided") },
    onProgress: (progress: object) => void output.push(progress),
  });

describe("a program keeps its secrets", () => {
  test("when it ends at its start, and prints them", async () => {
    const application = startApplication({ echoes: program("refuse") } as never);
    const seen: unknown[] = [];
    await application.step({}, async (run: any) => {
      await run.tools();
      seen.push(await run.client("echoes").catch((error: unknown) => error));
    });
    const text = printed([...seen, ...application.events, ...output]);
    expect(text.includes("[redacted]")).toBe(true);
    expect(leaksIn(text)).toEqual([]);
  });

  test.each(["fails", "throws"])("when its tool %s, and repeats them", async (tool) => {
    const application = startApplication({ echoes: program() } as never);
    const seen: unknown[] = [];
    const keep = async (work: Promise<unknown>) => void seen.push(await work.catch((e) => e));
    await application.step({}, async (run: any) => {
      await keep(callTool(await run.tools(), `echoes__${tool}`));
      await keep(run.call("echoes", tool));
      const client = await run.client("echoes");
      await keep(client.callTool({ name: tool, arguments: {} }));
    });
    const text = printed([...seen, ...application.events, ...output]);
    expect(text.includes("[redacted]")).toBe(true);
    expect(leaksIn(text)).toEqual([]);
  });
});

test.each([
  ["https://a.test/s/aBcDeF/mcp", ["aBcDeF"]],
  ["https://a.test/api/v1/mcp/0198c2d4-9b1e", ["0198c2d4-9b1e"]],
  ["https://a.test/sk_live_51Hxyz/mcp?page=1", ["sk_live_51Hxyz"]],
  ["https://a.test/AbCdEfGhIjKlMnOpQrSt/mcp", ["AbCdEfGhIjKlMnOpQrSt"]],
  ["https://a.test/notion-integration/2025-03-26/mcp/", []],
])("of the URL %s the secrets are %j", (url, secrets) => {
  expect(secretsOfUrl(new URL(url))).toEqual(secrets);
});
