/** Each secret of a connection, in each form, at each place where text leaves. */

import { fileURLToPath } from "node:url";
import { createMemoryStore } from "@durable-mcp/core";
import type { WaitingCall } from "@durable-mcp/core/waiting";
import { scriptedModel } from "@durable-mcp/testing/ai-sdk";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { collectEvents } from "../collect-events.ts";
import { collectSpans } from "../../../sessions/test/collect-spans.ts";
import {
  answers,
  echoOf,
  failedWith,
  kinds,
  leaksIn,
  optionsOf,
  printed,
  secretOf,
  startEchoes,
} from "../../../sessions/test/echoes.ts";
import { alice, callTool, startApplication } from "../step.ts";
import { confirm } from "../../../core/test/yes-or-no.ts";
import type { ReceivedRequest } from "../../../core/test/http-server.ts";
import {
  createDurableAgent,
  createDurableSessions,
  defineMcpClientConnection,
} from "../../src/index.ts";
import { openTelemetry } from "../../../sessions/src/opentelemetry/index.ts";
import { defineMcpStdioConnection } from "../../src/stdio.ts";
import { secretsOfUrl } from "../../../sessions/src/connection/connection-secrets.ts";

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

const logins = {
  auth: {},
  // `@ai-sdk/mcp` sends its token.
  authProvider: {
    auth: undefined,
    authProvider: { tokens: () => ({ access_token: secretOf("token"), token_type: "Bearer" }) },
  } as object,
};
const connections = (["session", "stateless"] as const).flatMap((era) =>
  (["auth", "authProvider"] as const).map((login) => [era, login] as const),
);

describe.each(connections)("a connection of the era %s with %s", (era, login) => {
  const unheard = era === "session" ? [] : ["a notification"];
  if (login === "authProvider" && era === "stateless") unheard.push("progress");
  const said = answers.filter(([name]) => !unheard.includes(name));
  test.each(said)("keeps its secrets when the server repeats them in %s", async (_, reply) => {
    const { url, echoed } = await startEchoes(era, reply);
    const seen: unknown[] = [];
    const keep = async (work: Promise<unknown>) => void seen.push(await work.catch((e) => e));
    const options = {
      ...{ ...optionsOf(url, era), ...logins[login] },
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
    const sent = [...kinds, ...(era === "session" ? ["session"] : [])].filter(
      (kind) => login === "auth" || kind !== "proof",
    );
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
      // No record keeps what an earlier step has sent: its proof is used up.
      const { dpop: _, ...headers } = request.headers;
      ofCall = echoOf({ ...request, headers });
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
      fileURLToPath(new URL("../../../sessions/test/echoing-program.ts", import.meta.url)),
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
