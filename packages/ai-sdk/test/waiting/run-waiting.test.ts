import { createMemoryStore, type SessionStore } from "@durable-mcp/core";
import type { ModelMessage, ToolSet } from "ai";
import { expect, test, vi } from "vitest";
import { type AnswerLeg, startAskingServer, yes } from "../../../sessions/test/asking-server.ts";
import { alice, callTool } from "../step.ts";
import { createDurableSessions, defineMcpClientConnection } from "../../src/index.ts";
import { waitingModelOutput } from "../../src/tool-set/model-output.ts";
import { waitingCallOf } from "@durable-mcp/core/internal";
import type { WaitingResult } from "@durable-mcp/core/waiting";

const use = { principal: alice };
// The model gives an argument that is the application's.
const input = { item: "tea", key: "a guess" };

/** A process of an application, and a chat in which a call waits. */
async function startChat(answer: AnswerLeg, wrap = (store: SessionStore) => store) {
  const { url, legs } = await startAskingServer({ answer });
  let time = Date.now();
  const now = () => time;
  const store = createMemoryStore({ now });
  const startProcess = (own = store) =>
    createDurableSessions({
      connections: {
        shop: defineMcpClientConnection({
          ...{ url, description: "A shop.", waiting: true },
          providedArguments: { key: "a secret key" },
        }),
      },
      ...{ store: own, now, onEvent: () => undefined },
    });
  const sessions = startProcess(wrap(store));
  const output = (await sessions.run("chat", use, async (run) =>
    callTool(await run.tools(), "shop__order", input),
  )) as WaitingResult;
  const call = { toolCallId: "call-1", toolName: "shop__order" };
  const messages: ModelMessage[] = [
    { role: "assistant", content: [{ type: "tool-call", ...call, input }] },
    {
      role: "tool",
      content: [{ type: "tool-result", ...call, output: waitingModelOutput(output) }],
    },
  ];
  return {
    ...{ store, startProcess, legs },
    answer: () => sessions.answer("chat", waitingCallOf(output)!.id, yes, use),
    /** @param withTools `false` for a step whose server is down */
    resume: async (of = sessions, withTools = true) =>
      await of.run("chat", use, async (run) => {
        const own: ToolSet = withTools ? await run.tools() : {};
        return JSON.stringify((await run.waiting.resume(messages, { tools: own })).messages);
      }),
    pass: (ms: number) => void (time += ms),
  };
}

const failed = (text: string) => ({ content: [{ type: "text", text }], isError: true });

test.each<[string, (text: string) => object]>([
  ["a failed result", (text) => ({ result: { resultType: "complete", ...failed(text) } })],
  ["an error", (message) => ({ error: { code: -32_000, message } })],
])("%s after the wait repeats none of the application's arguments", async (_, fail) => {
  const { answer, resume, legs } = await startChat(
    ({ params }) =>
      params.inputResponses && fail(`No tea for ${String(params.arguments?.["key"])}.`),
  );
  expect(await answer()).toMatchObject({ state: "settled" });
  expect(legs[1]!.params.arguments).toEqual({ ...input, key: "a secret key" });
  for (const withTools of [true, false]) {
    const messages = await resume(undefined, withTools);
    expect(messages).toContain("No tea for [redacted].");
    expect(messages).not.toContain("secret");
  }
});

test("a leg that was given up for dead, and ends while the step looks, has its result in the messages", async () => {
  const gate = Promise.withResolvers<void>();
  const { answer, resume, startProcess, store, legs, pass } = await startChat(
    async ({ params }) => {
      if (params.inputResponses) await gate.promise;
      return undefined;
    },
    // A process that gives no sign of life.
    (plain) => ({ ...plain, touch: async () => undefined }),
  );
  const answered = answer();
  await vi.waitFor(() => expect(legs).toHaveLength(2));
  pass(3_600_000);
  const put: SessionStore["put"] = async (key, value, ...rest) => {
    if (Object.hasOwn(value as object, "isDelivered")) {
      gate.resolve();
      await answered;
    }
    return await store.put(key, value, ...rest);
  };
  const messages = await resume(startProcess({ ...store, put }));
  expect(await answered).toMatchObject({ state: "settled" });
  expect(messages).toContain("order tea is done.");
});

test("a call of the application's own, without a conversation, is found with its result", async () => {
  const { url } = await startAskingServer();
  const sessions = createDurableSessions({
    connections: {
      shop: defineMcpClientConnection({ url, description: "A shop.", waiting: true }),
    },
    store: createMemoryStore(),
    onEvent: () => undefined,
  });
  const { id } = waitingCallOf(
    await sessions.run("chat", use, (run) => run.call("shop", "order", { item: "tea" })),
  )!;
  const found = async () =>
    await sessions.run("chat", use, async (run) => ({ own: await run.waiting.find(id) }));
  expect((await found()).own).toMatchObject({ call: { id, state: "waiting" } });
  await sessions.answer("chat", id, yes, use);
  expect((await found()).own).toMatchObject({
    call: { state: "settled" },
    result: { content: [{ text: "order tea is done." }] },
  });
  const unknown = await sessions.run("chat", use, async (run) => ({
    own: await run.waiting.find("another"),
  }));
  expect(unknown.own).toBeUndefined();
});
