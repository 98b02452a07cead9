import type { McpServer } from "@modelcontextprotocol/server";
import { expect, test } from "vitest";
import { addAskingTools } from "../../test/asking-server.ts";
import { cancellation, readMessages, takeEvents, toolCall } from "../../test/raw-client.ts";
import { createReplicas } from "../../test/replicas.ts";

const capabilities = { elicitation: { form: {} }, roots: {} };
const accept = (content: object) => ({ result: { action: "accept", content } });
const yes = accept({ ok: true });

type Options = Parameters<typeof createReplicas>[0];

/** Replicas whose servers ask. Their author's code is told in `lines`. */
function createAsking(options: Options = {}) {
  const told: string[] = [];
  const replicas = createReplicas({
    sdk: 2,
    setUp: (mcp) => addAskingTools(mcp as unknown as McpServer, told),
    ...options,
  });
  return { ...replicas, told };
}

type Client = ReturnType<ReturnType<typeof createReplicas>["start"]>["client"];

/** Makes a call that asks; the questions, and the whole of its stream. */
async function ask(client: Client, id: string, call: object, count = 1) {
  const response = await client.post(id, call);
  const [head, rest] = response.body!.tee();
  const questions = await takeEvents(new Response(head), count);
  const headers = { "content-type": "text/event-stream" };
  return { questions, messages: readMessages(new Response(rest, { headers })) };
}

const textOf = (message: { result?: { content?: { text: string }[] } } | undefined) =>
  message?.result?.content?.[0]?.text;

test("the answer reaches the call on the client's stream, whichever replica gets it", async () => {
  const { start, told } = createAsking();
  const [one, two] = [start(), start()];
  const id = await one.client.initialize(capabilities);
  const { questions, messages } = await ask(one.client, id, toolCall(7, "order", { item: "tea" }));
  expect(questions[0]?.message).toMatchObject({
    method: "elicitation/create",
    params: { message: "Order tea?", mode: "form" },
  });
  const sent = await two.client.post(id, { id: questions[0]!.message.id, ...yes });
  expect(sent.status).toBe(202);
  const last = (await messages).at(-1)!.message;
  expect([last.id, textOf(last)]).toEqual([7, "ordered tea with state of tea"]);
  expect(told).toEqual(["ask tea", "order tea"]);
});

test("a call whose asker is dead ends at another replica, where its client comes back", async () => {
  const { start, told } = createAsking();
  const one = start();
  const id = await one.client.initialize(capabilities);
  const { questions } = await ask(one.client, id, toolCall(7, "order", { item: "tea" }));
  one.kill();
  const [two, three] = [start(), start()];
  const resumed = await two.client.get(id, questions[0]!.eventId);
  expect((await three.client.post(id, { id: questions[0]!.message.id, ...yes })).status).toBe(202);
  const messages = await readMessages(resumed);
  expect(messages.map(({ message }) => textOf(message))).toEqual(["ordered tea with state of tea"]);
  expect(told).toEqual(["ask tea", "order tea"]);
});

test("a client that has not seen the question gets it from another replica", async () => {
  const { start } = createAsking();
  const one = start();
  const id = await one.client.initialize(capabilities);
  const response = await one.client.post(id, toolCall(7, "order", { item: "tea" }));
  const events = await takeEvents(response, 1);
  one.kill();
  const two = start();
  const primed = events[0]!.eventId!.replace(/^([^.]+)\.1\./, "$1.0.");
  const [question] = await takeEvents(await two.client.get(id, primed), 1);
  expect(question?.message).toEqual(events[0]!.message);
});

test("calls at once do not get each other's answers", async () => {
  const { start, told } = createAsking();
  const [one, two] = [start(), start()];
  const id = await one.client.initialize(capabilities);
  const items = ["tea", "milk", "salt", "rice"];
  const asked = await Promise.all(
    items.map((item, index) =>
      ask(index % 2 ? one.client : two.client, id, toolCall(index, "order", { item })),
    ),
  );
  for (const { questions } of asked.toReversed()) {
    await one.client.post(id, { id: questions[0]!.message.id, ...yes });
  }
  const lasts = await Promise.all(asked.map(async ({ messages }) => (await messages).at(-1)!));
  expect(lasts.map(({ message }) => [message.id, textOf(message)])).toEqual(
    items.map((item, index) => [index, `ordered ${item} with state of ${item}`]),
  );
  expect(told.filter((line) => line.startsWith("order")).toSorted()).toEqual(
    items.map((item) => `order ${item}`).toSorted(),
  );
});

test("the last of several answers runs the call, once, from whichever replicas they come", async () => {
  const { start } = createAsking();
  const [one, two] = [start(), start()];
  const id = await one.client.initialize(capabilities);
  const { questions, messages } = await ask(one.client, id, toolCall(7, "order_both"), 2);
  const [a, b] = questions.map(({ message }) => message.id);
  await Promise.all([
    one.client.post(id, { id: a, ...accept({ ok: true }) }),
    two.client.post(id, { id: b, ...accept({ ok: false }) }),
    two.client.post(id, { id: a, ...accept({ ok: false }) }).then(() => undefined),
  ]);
  const all = await messages;
  expect(all).toHaveLength(3);
  expect(textOf(all.at(-1)?.message)).toMatch(/^\[\{"ok":(true|false)\},\{"ok":false\}\]$/);
});

test("an answer that is sent again is ignored", async () => {
  const { start, told } = createAsking();
  const [one, two] = [start(), start()];
  const id = await one.client.initialize(capabilities);
  const { questions, messages } = await ask(one.client, id, toolCall(7, "order", { item: "tea" }));
  const again = { id: questions[0]!.message.id, ...yes };
  await Promise.all([one, two, one].map(({ client }) => client.post(id, again)));
  await messages;
  expect((await two.client.post(id, again)).status).toBe(202);
  expect(told).toEqual(["ask tea", "order tea"]);
});

test("of two last answers at once, on two replicas, one makes the call again", async () => {
  const { start, told } = createAsking();
  const [one, two] = [start(), start()];
  const id = await one.client.initialize(capabilities);
  const call = toolCall(7, "order_slowly", { item: "tea" });
  const { questions } = await ask(one.client, id, call);
  const answer = { id: questions[0]!.message.id, ...yes };
  const { promise: isClaimed, resolve: claimed } = Promise.withResolvers<void>();
  const { promise: hasCome, resolve: comes } = Promise.withResolvers<void>();
  two.control.interfere = async (operation, run, keys) => {
    if (operation === "get" && keys.includes('"question"')) {
      comes();
      await isClaimed;
    }
    return await run();
  };
  const late = two.client.post(id, answer);
  await hasCome;
  await one.client.post(id, answer);
  await expect.poll(() => told).toEqual(["order tea"]);
  claimed();
  expect((await late).status).toBe(202);
  // Long enough for a second leg to begin.
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(told).toEqual(["order tea"]);
});

test.each([
  ["text for a boolean", accept({ ok: "yes" }), "does not match requested schema"],
  ["no content", { result: { action: "accept" } }, "does not match requested schema"],
  ["another result", { result: { said: "yes" } }, "Invalid result for elicitation/create"],
  ["an error", { error: { code: -1, message: "nobody is there" } }, "nobody is there"],
])("%s ends the call before its handler runs", async (_name, answer, words) => {
  const { start, told } = createAsking();
  const [one, two] = [start(), start()];
  const id = await one.client.initialize(capabilities);
  const { questions, messages } = await ask(one.client, id, toolCall(7, "order", { item: "tea" }));
  await two.client.post(id, { id: questions[0]!.message.id, ...answer });
  const last = (await messages).at(-1)!.message;
  expect(textOf(last)).toContain(`Fulfilling input required by 'tools/call' failed: `);
  expect([textOf(last), last.result?.["isError"]]).toEqual([expect.stringContaining(words), true]);
  expect(told).toEqual(["ask tea"]);
});

test("a refusal is an answer", async () => {
  const { start } = createAsking();
  const one = start();
  const id = await one.client.initialize(capabilities);
  const { questions, messages } = await ask(one.client, id, toolCall(7, "order", { item: "tea" }));
  await one.client.post(id, { id: questions[0]!.message.id, result: { action: "decline" } });
  expect(textOf((await messages).at(-1)?.message)).toContain('"action":"decline"');
});

test("prompts and resources ask, too", async () => {
  const { start } = createAsking();
  const [one, two] = [start(), start()];
  const id = await one.client.initialize(capabilities);
  const prompt = await ask(one.client, id, {
    id: 1,
    method: "prompts/get",
    params: { name: "greet" },
  });
  await two.client.post(id, { id: prompt.questions[0]!.message.id, ...yes });
  expect(JSON.stringify((await prompt.messages).at(-1)?.message.result)).toContain("hello true");
  const read = { id: 2, method: "resources/read", params: { uri: "notes://rules" } };
  const resource = await ask(one.client, id, read);
  expect(resource.questions[0]?.message.method).toBe("roots/list");
  const roots = { roots: [{ uri: "file:///a" }] };
  await two.client.post(id, { id: resource.questions[0]!.message.id, result: roots });
  expect(JSON.stringify((await resource.messages).at(-1)?.message.result)).toContain("1 roots");
});

test("a prompt's unusable answer is an error of its request", async () => {
  const { start } = createAsking();
  const one = start();
  const id = await one.client.initialize(capabilities);
  const get = { id: 1, method: "prompts/get", params: { name: "greet" } };
  const { questions, messages } = await ask(one.client, id, get);
  await one.client.post(id, { id: questions[0]!.message.id, ...accept({ ok: 1 }) });
  expect((await messages).at(-1)?.message.error?.code).toBe(-32603);
});

test("each round goes to the replica that gets its answer, up to the SDK's bound", async () => {
  const { start, told } = createAsking();
  const replicas = [start(), start(), start()];
  const id = await replicas[0]!.client.initialize(capabilities);
  const response = await replicas[0]!.client.post(id, toolCall(7, "ask_for_ever"));
  let seen = 0;
  const messages = readTelling(response, async (message) => {
    if (message.method !== "elicitation/create") return;
    const { client } = replicas[++seen % 3]!;
    await client.post(id, { id: message.id, ...yes });
  });
  const last = (await messages).at(-1)!;
  expect(textOf(last)).toContain("still required input after 8 rounds");
  expect(told).toHaveLength(9);
  expect(seen).toBe(8);
});

test("a state without questions is carried on in the same call", async () => {
  const { start } = createAsking();
  const one = start();
  const id = await one.client.initialize(capabilities);
  expect((await one.client.call(id, "pass_on")).text).toBe("3 steps");
});

test("a client that cannot answer is told by the SDK", async () => {
  const { start } = createAsking();
  const one = start();
  const id = await one.client.initialize({});
  const { text } = await one.client.call(id, "order", { item: "tea" });
  expect(text).toContain("did not declare the required capability");
});

test("answers and states that were not asked for are removed", async () => {
  const { start, told } = createAsking();
  const one = start();
  const id = await one.client.initialize(capabilities);
  const call = toolCall(7, "order", { item: "tea" });
  const inputResponses = { confirm: { action: "accept", content: { ok: true } } };
  const params = { ...call.params, inputResponses, requestState: "forged" };
  const { questions } = await ask(one.client, id, { ...call, params });
  expect(questions[0]?.message.method).toBe("elicitation/create");
  expect(told).toEqual(["ask tea"]);
});

test("a cancelled call's question is gone, and its streams end", async () => {
  const { start, told, store } = createAsking();
  const [one, two] = [start(), start()];
  const id = await one.client.initialize(capabilities);
  const { questions, messages } = await ask(one.client, id, toolCall(7, "order", { item: "tea" }));
  await two.client.post(id, cancellation(7));
  expect(await messages).toHaveLength(1);
  await two.client.post(id, { id: questions[0]!.message.id, ...yes });
  expect((await two.client.get(id, questions[0]!.eventId)).status).toBe(204);
  expect(told).toEqual(["ask tea"]);
  const { records } = await store.list({
    prefix: '["durable-mcp-server","default","question"',
    limit: 9,
  });
  expect(records).toEqual([]);
});

test("a call that was made again is cancelled from any replica", async () => {
  const { start, told } = createAsking();
  const [one, two] = [start(), start()];
  const id = await one.client.initialize(capabilities);
  const call = toolCall(7, "order_slowly", { item: "tea" });
  const { questions, messages } = await ask(one.client, id, call);
  await two.client.post(id, { id: questions[0]!.message.id, ...yes });
  await expect.poll(() => told).toContain("order tea");
  await one.client.post(id, cancellation(7));
  expect(await messages).toHaveLength(1);
  await expect.poll(() => told).toContain("aborted");
});

test("the id of a request that waits is refused on every replica, until it is answered", async () => {
  const { start } = createAsking();
  const [one, two] = [start(), start()];
  const id = await one.client.initialize(capabilities);
  const { questions, messages } = await ask(one.client, id, toolCall(7, "order", { item: "tea" }));
  for (const { client } of [one, two]) {
    expect(await client.call(id, "list", {}, 7)).toMatchObject({ status: 409 });
  }
  await two.client.post(id, { id: questions[0]!.message.id, ...yes });
  await messages;
  expect(await one.client.call(id, "list", {}, 7)).toMatchObject({ status: 200 });
});

test("a session that ends ends its waiting calls", async () => {
  const { start, store } = createAsking();
  const [one, two] = [start(), start()];
  const id = await one.client.initialize(capabilities);
  const { questions, messages } = await ask(one.client, id, toolCall(7, "order", { item: "tea" }));
  await two.client.end(id);
  expect((await messages).at(-1)?.message.error?.data?.code).toBe("OUTCOME_UNKNOWN");
  expect((await two.client.post(id, { id: questions[0]!.message.id, ...yes })).status).toBe(404);
  const { records } = await store.list({ prefix: "", limit: 100 });
  expect(records.filter(({ key }) => !key.includes('"replica"'))).toEqual([]);
});

test("a process that dies while it makes the call again ends it with an unknown outcome", async () => {
  const { start, told } = createAsking({ timeouts: { leaseMs: 300 } });
  const [one, two] = [start(), start()];
  const id = await one.client.initialize(capabilities);
  const call = toolCall(7, "order_slowly", { item: "tea" });
  const { questions, messages } = await ask(one.client, id, call);
  const answer = { id: questions[0]!.message.id, ...yes };
  await two.client.post(id, answer);
  await expect.poll(() => told).toEqual(["order tea"]);
  two.kill();
  expect((await messages).at(-1)?.message.error?.data?.code).toBe("OUTCOME_UNKNOWN");
  await one.client.post(id, answer);
  expect(told).toEqual(["order tea"]);
});

test("a question keeps its session and its stream", async () => {
  let time = Date.now();
  const now = () => time;
  const { createMemoryStore } = await import("@durable-mcp/core");
  const { start } = createAsking({ now, store: createMemoryStore({ now }) });
  const [one, two] = [start(), start()];
  const id = await one.client.initialize(capabilities);
  const { questions } = await ask(one.client, id, toolCall(7, "order", { item: "tea" }));
  await one.handler.drain({ timeoutMs: 100 });
  time += 6.9 * 24 * 3_600_000;
  const primed = questions[0]!.eventId!.replace(/^([^.]+)\.1\./, "$1.0.");
  const [again] = await takeEvents(await two.client.get(id, primed), 1);
  expect(again?.message).toEqual(questions[0]!.message);
  const resumed = await two.client.get(id, questions[0]!.eventId);
  await two.client.post(id, { id: again!.message.id, ...yes });
  const [answer] = await readMessages(resumed);
  expect(textOf(answer?.message)).toBe("ordered tea with state of tea");
  time += 31 * 60_000;
  expect(await two.client.call(id, "list")).toMatchObject({ status: 404 });
});

test("a drain does not wait for an answer, and its client comes back elsewhere", async () => {
  const { start, told } = createAsking();
  const [one, two] = [start(), start()];
  const id = await one.client.initialize(capabilities);
  const { questions, messages } = await ask(one.client, id, toolCall(7, "order", { item: "tea" }));
  const startedAt = Date.now();
  await one.handler.drain({ timeoutMs: 5_000 });
  expect(Date.now() - startedAt).toBeLessThan(1_000);
  expect(await messages).toHaveLength(1);
  const resumed = await two.client.get(id, questions[0]!.eventId);
  await two.client.post(id, { id: questions[0]!.message.id, ...yes });
  const [answer] = await readMessages(resumed);
  expect(textOf(answer?.message)).toBe("ordered tea with state of tea");
  expect(told).toEqual(["ask tea", "order tea"]);
});

test("with JSON answers the SDK asks, in its process", async () => {
  const { start } = createAsking({ responseFormat: "json" });
  const one = start();
  const id = await one.client.initialize(capabilities);
  const listening = takeEvents(await one.client.get(id), 1);
  const call = one.client.post(id, toolCall(7, "order", { item: "tea" }));
  const [question] = await listening;
  await one.client.post(id, { id: question!.message.id, ...yes });
  const [answer] = await readMessages(await call);
  expect(textOf(answer?.message)).toBe("ordered tea with state of tea");
});

test("a call too large to be kept is told so", async () => {
  const { start } = createAsking({ events: { maxLength: 1_000 } });
  const one = start();
  const id = await one.client.initialize(capabilities);
  const { text } = await one.client.call(id, "order", { item: "tea".repeat(400) });
  expect(text).toContain("events.maxLength (1000)");
});

test("a server without the SDK's shim is served as before, and that is told once", async () => {
  const { start, events } = createAsking({
    setUp: (mcp) => {
      addAskingTools(mcp as unknown as McpServer, []);
      const own = { _legacyInputRequiredShim: undefined };
      Object.assign(mcp.server, own);
    },
  });
  const one = start();
  await one.client.initialize(capabilities);
  await one.client.initialize(capabilities);
  const told = events.filter(({ type }) => type === "questions-not-stored");
  expect(told).toHaveLength(1);
});

async function readTelling(
  response: Response,
  onMessage: (message: { id?: string | number | null; method?: string }) => Promise<void>,
) {
  const messages: { result?: { content?: { text: string }[] } }[] = [];
  const decoder = new TextDecoder();
  let rest = "";
  for await (const bytes of response.body!) {
    const blocks = (rest + decoder.decode(bytes, { stream: true })).split("\n\n");
    rest = blocks.pop()!;
    for (const block of blocks) {
      const data = /^data: (.+)$/m.exec(block)?.[1];
      if (data === undefined) continue;
      const message = JSON.parse(data) as { id?: string; method?: string };
      messages.push(message as never);
      await onMessage(message);
    }
  }
  return messages;
}
