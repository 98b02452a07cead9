import { SpanKind, SpanStatusCode } from "@opentelemetry/api";
import { createMemoryStore } from "@durable-mcp/core";
import { ToolLoopAgent } from "ai";
import { beforeEach, expect, test } from "vitest";
import { callsOf } from "../../../sessions/test/calls-of.ts";
import { type AnswerLeg, startAskingServer, yes } from "../../../sessions/test/asking-server.ts";
import { collectMetrics } from "../../../sessions/test/collect-metrics.ts";
import { collectSpans } from "../../../sessions/test/collect-spans.ts";
import { scriptedModel } from "@durable-mcp/testing/ai-sdk";
import { addNote, parkCalls, startLockedNotebook } from "../sign-in-application.ts";
import { alice, callTool } from "../step.ts";
import {
  createDurableSessions,
  defineMcpClientConnection,
  stopWhenWaiting,
} from "../../src/index.ts";
import { openTelemetry } from "../../../sessions/src/opentelemetry/index.ts";

const { find, outline, spans, reset } = collectSpans();
const { take, values } = collectMetrics();
beforeEach(async () => {
  await take();
  reset();
});

const use = { principal: alice };

/** Sessions whose connections are measured, and a call that waits. */
async function start(reply: AnswerLeg = () => undefined, abortSignal?: AbortSignal) {
  const server = await startAskingServer({
    answer: (leg) => (leg.params.inputResponses ? reply(leg) : undefined),
  });
  const { url } = server;
  const sessions = createDurableSessions({
    connections: {
      shop: defineMcpClientConnection({ url, description: "A.", waiting: true }),
    },
    store: createMemoryStore(),
    telemetry: openTelemetry({ propagate: true }),
  });
  await sessions.run("chat", use, async (run) => callTool(await run.tools(), "shop__order_twice"));
  const [call] = callsOf(await sessions.waiting("chat", use));
  const answer = () => sessions.answer("chat", call!.id, yes, { ...use, abortSignal });
  return { server, sessions, answer };
}

const round = "durable_mcp.waiting.round";
const state = "durable_mcp.waiting.state";

test("the span of a call that waits says so, and is no error", async () => {
  await start();
  const { status, attributes } = find("tools/call order_twice");
  expect(status.code).toBe(SpanStatusCode.UNSET);
  expect(attributes).toMatchObject({ [round]: 1, [state]: "waiting" });
  expect(attributes).not.toHaveProperty("error.type");
});

test("the span of a call that waits for a sign-in says so, and is no error", async () => {
  const app = await startLockedNotebook({
    sessionsOptions: { telemetry: openTelemetry() },
  });
  await parkCalls(app, [addNote("tea")]);
  const { status, attributes } = find("tools/call add_note");
  expect(status.code).toBe(SpanStatusCode.UNSET);
  expect(attributes).toMatchObject({ [state]: "waiting" });
  expect(attributes).not.toHaveProperty("error.type");
});

test("an answer has a span, with its tool, its round and the state after it", async () => {
  const { server, answer } = await start();
  reset();
  await answer();
  await answer();
  expect(spans().map(({ name }) => name)).toEqual(["answer order_twice", "answer order_twice"]);
  const { hostname, port } = new URL(server.url);
  const common = {
    "durable_mcp.connection": "shop",
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": "order_twice",
    "mcp.protocol.version": "2026-07-28",
    "network.protocol.name": "http",
    "network.transport": "tcp",
    "server.address": hostname,
    "server.port": Number(port),
  };
  expect(spans().map(({ attributes }) => attributes)).toEqual([
    { ...common, [round]: 1, [state]: "waiting" },
    { ...common, [round]: 2, [state]: "settled" },
  ]);
  for (const span of spans()) {
    expect(span.kind).toBe(SpanKind.INTERNAL);
    expect(span.status.code).toBe(SpanStatusCode.UNSET);
  }
  // The server's spans are below it.
  const traces = server.requests
    .slice(-2)
    .map(({ message }) => message.params["_meta"].traceparent);
  expect(traces).toEqual(spans().map((span) => expect.stringContaining(span.spanContext().spanId)));
});

test("an answer with an unknown outcome, and one that settles as an error, are errors", async () => {
  const controller = new AbortController();
  const late = await start(() => {
    controller.abort();
    return new Promise(() => undefined);
  }, controller.signal);
  reset();
  await late.answer();
  expect(find("answer order_twice")).toMatchObject({
    status: { code: SpanStatusCode.ERROR },
    attributes: { [state]: "outcome-unknown", "error.type": "OUTCOME_UNKNOWN" },
  });
  const refused = await start(() => ({ error: { code: -32000, message: "Sold out." } }));
  reset();
  await refused.answer();
  expect(find("answer order_twice")).toMatchObject({
    status: { code: SpanStatusCode.ERROR },
    attributes: { [state]: "settled", "error.type": "tool_error" },
  });
  reset();
  await expect(refused.answer()).rejects.toThrow("does not wait");
  expect(find("answer order_twice").attributes).toMatchObject({ "error.type": "NOT_WAITING" });
});

test("in a run there is one span an answer, and a result that is filled in is no call", async () => {
  const { sessions, answer } = await start();
  await answer();
  const model = scriptedModel([{ tool: "shop__order", input: { item: "tea" } }], "never");
  const messages = await sessions.run("chat", use, async (run) => {
    const agent = new ToolLoopAgent({ model, tools: await run.tools(), ...stopWhenWaiting() });
    return (await agent.generate({ prompt: "Order." })).responseMessages;
  });
  reset();
  await sessions.run("chat", use, async (run) => {
    const [first, second] = callsOf(await run.waiting.list());
    await run.waiting.answer(first!.id, yes);
    await run.waiting.answer(second!.id, yes);
    await run.waiting.resume(messages, { tools: await run.tools() });
  });
  expect(outline().split("\n")).toEqual([
    "answer order_twice",
    "answer order",
    "tools/list",
    "  server/discover",
  ]);
});

test("waiting calls are counted by state, and answers measured", async () => {
  const { answer } = await start();
  await answer();
  await answer();
  await expect(answer()).rejects.toThrow("does not wait");
  const measured = await values();
  const counted = measured["durable_mcp.waiting_calls"]!.map(({ value, attributes }) => [
    attributes["durable_mcp.connection"],
    attributes[state],
    value,
  ]);
  expect(counted).toEqual([
    ["shop", "waiting", 2],
    ["shop", "settled", 1],
  ]);
  const answers = measured["durable_mcp.answer.duration"]!.map(({ value, attributes }) => [
    attributes["error.type"],
    value,
  ]);
  expect(answers).toEqual([
    [undefined, 2],
    ["NOT_WAITING", 1],
  ]);
});
