/** Waiting calls where runs overlap or nest. */
import { createMemoryStore } from "@durable-mcp/core";
import type { ModelMessage, ToolSet } from "ai";
import { expect, test } from "vitest";
import { callsOf } from "../../../sessions/test/calls-of.ts";
import { startAskingServer, yes } from "../../../sessions/test/asking-server.ts";
import { collectEvents } from "../collect-events.ts";
import { alice, bob, callTool } from "../step.ts";
import {
  type ConnectionRun,
  createDurableSessions,
  currentConnections,
  defineMcpClientConnection,
  type DurableSessionsOptions,
  withConnections,
} from "../../src/index.ts";
import { waitingCallOf } from "@durable-mcp/core/internal";

const use = { principal: alice };

async function start(options: Partial<DurableSessionsOptions<any>> = {}) {
  const server = await startAskingServer();
  const { onEvent, events } = collectEvents();
  const { url } = server;
  const sessions = createDurableSessions({
    connections: { shop: defineMcpClientConnection({ url, description: "A.", waiting: true }) },
    ...{ store: createMemoryStore(), onEvent },
    ...(options as object),
  });
  return { server, sessions, events };
}

/** The conversation after a tool's result, as AI SDK has it. */
async function order(run: Pick<ConnectionRun<any>, "tools">): Promise<ModelMessage[]> {
  const tools: ToolSet = await run.tools();
  const input = { item: "tea" };
  const call = { toolCallId: "call-1", toolName: "shop__order", input };
  const output: unknown = await callTool(tools, "shop__order", input);
  expect(waitingCallOf(output)).toMatchObject({ state: "waiting" });
  const shown = await tools["shop__order"]!.toModelOutput!({ ...call, output });
  return [
    { role: "assistant", content: [{ type: "tool-call", ...call }] },
    { role: "tool", content: [{ type: "tool-result", ...call, output: shown }] },
  ] as ModelMessage[];
}

test("a run that is open gets an answer that is given outside of it", async () => {
  const { server, sessions } = await start();
  await sessions.run("chat", use, async (run) => {
    const tools = await run.tools();
    const messages = await order(run);
    const [call] = callsOf(await run.waiting.list());
    await sessions.answer("chat", call!.id, yes, use);
    expect(await run.waiting.list()).toEqual([]);
    await expect(run.waiting.answer(call!.id, yes)).rejects.toMatchObject({ code: "NOT_WAITING" });
    const { messages: filled } = await run.waiting.resume(messages, { tools });
    expect(JSON.stringify(filled)).toContain("order tea is done.");
  });
  expect(server.legs).toHaveLength(2);
});

test("code below a run finds its waiting calls", async () => {
  const { sessions } = await start();
  await sessions.run("chat", use, async (run) => {
    await order(run);
    const [call] = callsOf(await currentConnections().waiting.list());
    await run.enter(async () => {
      expect(await currentConnections().waiting.list()).toEqual([call]);
    });
    await withConnections({ shop: "isolate" }, async (own) => {
      expect(await own.waiting.list()).toEqual([call]);
      expect(await currentConnections().waiting.withdraw(call!.id)).toMatchObject({
        state: "withdrawn",
      });
    });
    expect(await run.waiting.list()).toEqual([]);
  });
});

test("a nested run of another principal has its own, and sees none of the run around it", async () => {
  const { server, sessions } = await start();
  await sessions.run("chat", use, async (run) => {
    const messages = await order(run);
    const [call] = callsOf(await run.waiting.list());
    const asBob = { principal: bob };
    const isolated = { shop: "isolate" } as const;
    await withConnections(
      isolated,
      async (own) => {
        const { waiting } = currentConnections();
        expect(await waiting.list()).toEqual([]);
        for (const act of [waiting.answer(call!.id, yes), waiting.withdraw(call!.id)]) {
          await expect(act).rejects.toMatchObject({ code: "NOT_WAITING" });
        }
        const bobs = await own.tools();
        const { resumed, stillWaiting } = await waiting.resume(messages, { tools: bobs });
        expect([resumed, stillWaiting]).toEqual([[], []]);
        await order(own);
        expect(await waiting.list()).toHaveLength(1);
      },
      asBob,
    );
    expect(await run.waiting.list()).toEqual([call]);
  });
  expect(await sessions.waiting("chat", { principal: bob })).toHaveLength(1);
  expect(await sessions.waiting("chat", use)).toHaveLength(1);
  expect(server.legs).toHaveLength(2);
});

test("a script on an implicit session answers in it", async () => {
  const { sessions } = await start({ autoSession: { sessionId: "nightly", principal: alice } });
  const registry = currentConnections();
  await order(registry);
  const [call] = callsOf(await registry.waiting.list());
  expect(await sessions.waiting("nightly", use)).toEqual([call]);
  expect(await registry.waiting.answer(call!.id, yes)).toMatchObject({ state: "settled" });
  expect(await registry.waiting.list()).toEqual([]);
  await sessions.shutdown();
});
