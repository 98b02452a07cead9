/** `waiting.resume`: messages come from browsers. */
import { createMemoryStore, type SessionStore } from "@durable-mcp/core";
import type { ToolSet } from "ai";
import { expect, test } from "vitest";
import { callsOf } from "../../../sessions/test/calls-of.ts";
import { startAskingServer, yes } from "../../../sessions/test/asking-server.ts";
import { alice, callTool } from "../../test/step.ts";
import { createDurableSessions, defineMcpClientConnection } from "../index.ts";

const use = { principal: alice };

/** An agent session in which `order` waits, and the reads of its store: how many, and how many at a time. */
async function startShop(answer?: Parameters<typeof startAskingServer>[0]) {
  const server = await startAskingServer(answer);
  const { url } = server;
  const stored = createMemoryStore();
  const reads = { all: 0, now: 0, most: 0 };
  const store: SessionStore = {
    ...stored,
    async get(key) {
      reads.all += 1;
      reads.most = Math.max(reads.most, ++reads.now);
      await new Promise((resolve) => setTimeout(resolve, 1));
      reads.now -= 1;
      return await stored.get(key);
    },
  };
  const connect = () => defineMcpClientConnection({ url, description: "A shop.", waiting: true });
  const sessions = createDurableSessions({
    connections: { shop: connect(), store: connect() },
    store,
    onEvent: () => undefined,
  });
  await sessions.run("chat", use, async (run) => {
    await callTool(await run.tools(), "shop__order", { item: "tea" });
  });
  const [call] = callsOf(await sessions.waiting("chat", use));
  const { id } = call!;
  return {
    ...{ sessions, server, id, reads },
    settle: () => sessions.answer("chat", id, yes, use),
    resume: async (messages: readonly Message[], toolsOf = (tools: ToolSet) => tools) =>
      await sessions.run("chat", use, async (run) => {
        Object.assign(reads, { all: 0, most: 0 });
        return await run.waiting.resume(messages, {
          tools: toolsOf((await run.tools()) as ToolSet),
        });
      }),
  };
}

type Message = ReturnType<typeof messagesWith>[number];

/** A conversation in which a call has its placeholder. */
function messagesWith(id: string, toolName = "shop__order", input: unknown = { item: "tea" }) {
  const call = { toolCallId: "call-1", toolName };
  const text = { type: "text", text: "-", providerOptions: { "durable-mcp": { waiting: id } } };
  const output = { type: "content", value: [text] };
  return [
    { role: "assistant", content: [{ type: "tool-call", ...call, input }] },
    { role: "tool", content: [{ type: "tool-result", ...call, output }] },
  ];
}

/** Placeholders of calls that nobody made. */
const many = (count: number) =>
  Array.from({ length: count }, (_, index) => messagesWith(`nobody's ${index}`)).flat();

/** What the model gets for the calls, in their order. */
const outputsOf = ({ messages }: { messages: readonly Message[] }) =>
  messages.flatMap(({ content }) =>
    content.flatMap((part) => ("output" in part ? [part.output] : [])),
  );

const gone = { type: "error-text", value: expect.stringContaining("another call than this one") };
const done = { type: "content", value: [{ type: "text", text: "order tea is done." }] };

test("a call that has many places is read once", async () => {
  const { id, reads, resume, settle } = await startShop();
  const messages = Array.from({ length: 50 }, () => messagesWith(id)).flat();
  const waits = await resume(messages);
  expect([waits.stillWaiting.length, waits.resumed.length]).toEqual([1, 0]);
  expect(reads.all).toBe(1);
  await settle();
  const settled = await resume(messages);
  expect(reads.all).toBe(1);
  expect(settled.resumed).toMatchObject([{ id, state: "settled" }]);
  expect(outputsOf(settled)).toEqual(Array.from({ length: 50 }, () => done));
});

test("a few calls are read at a time, and ever so many are refused before any is read", async () => {
  const { reads, resume } = await startShop();
  expect(outputsOf(await resume(many(1_000)))).toEqual(Array.from({ length: 1_000 }, () => gone));
  expect(reads.all).toBe(1_000);
  expect(reads.most).toBeLessThanOrEqual(10);
  await expect(resume(many(1_001))).rejects.toMatchObject({
    code: "CONNECTION_INVALID",
    message: expect.stringMatching(/messages .* more than 1000 calls/),
    data: { field: "messages" },
  });
  expect(reads.all).toBe(0);
});

test("an input that nests too deep for a stack is another call's", async () => {
  const { id, resume, settle } = await startShop();
  await settle();
  let deep: unknown = "tea";
  for (let depth = 0; depth < 100_000; depth += 1) deep = { item: [deep] };
  const resumed = await resume([...messagesWith(id, "shop__order", deep), ...messagesWith(id)]);
  expect(outputsOf(resumed)).toEqual([gone, done]);
});

test.each([undefined, null, "messages", { length: 1 }])(
  "%j is no list of messages",
  async (none) => {
    const { resume } = await startShop();
    await expect(resume(none as never)).rejects.toMatchObject({
      code: "CONNECTION_INVALID",
      message: expect.stringContaining("messages must be a list"),
      data: { field: "messages" },
    });
  },
);

test("the same arguments under another tool's name, or another call's id, are another call, beside the right one too", async () => {
  const { id, resume, settle } = await startShop();
  await settle();
  const names = ["store__order", "shop__order_twice", "shop__order"];
  const [call, result] = messagesWith(id);
  const ofAnother = [call!, result!].map(({ role, content }) => ({
    ...{ role, content: content.map((part) => ({ ...part, toolCallId: "call-2" })) },
  })) as Message[];
  const named = names.flatMap((name) => messagesWith(id, name));
  const resumed = await resume([...ofAnother, ...named]);
  expect(outputsOf(resumed)).toEqual([gone, gone, gone, done]);
  expect(resumed.resumed).toMatchObject([{ id }]);
});

test("a tool that the application has named itself is the one that waited", async () => {
  const { id, resume, settle } = await startShop();
  await settle();
  const resumed = await resume(messagesWith(id, "buy"), ({ shop__order }) => ({
    buy: shop__order!,
  }));
  expect(outputsOf(resumed)).toEqual([done]);
});

test("without its tool, the model gets the content of the server's result", async () => {
  const content = [
    { type: "text", text: "Here it is." },
    { type: "image", data: "iVBORw0KGgo=", mimeType: "image/png" },
    { type: "resource_link", uri: "shop://tea", name: "tea" },
  ];
  const result = { resultType: "complete", content, _meta: { "shop/own": "for the client" } };
  const { id, resume, settle } = await startShop({
    answer: ({ params }) => (params.inputResponses ? { result } : undefined),
  });
  await settle();
  const withTool = outputsOf(await resume(messagesWith(id)));
  expect(outputsOf(await resume(messagesWith(id), () => ({})))).toEqual(withTool);
  expect(withTool).toMatchObject([
    { type: "content", value: [{ type: "text" }, { type: "file" }, { type: "text" }] },
  ]);
  expect(JSON.stringify(withTool)).not.toContain("for the client");
});
