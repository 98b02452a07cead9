import { createMemoryStore, type SessionStore, type StoreListQuery } from "@durable-mcp/core";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { expect, test } from "vitest";
import { z } from "zod";
import { createFaultyStore } from "@durable-mcp/testing";
import { readMessages, takeEventId, takeEvents, toolCall } from "../../test/raw-client.ts";
import { createReplicas, startSession, startTwo } from "../../test/replicas.ts";

/** The keys of a kind of values. */
async function keysOf(store: SessionStore, kind: string): Promise<string[]> {
  const prefix = `["durable-mcp-server","default","${kind}",`;
  return (await store.list({ prefix, limit: 1_000 })).records.map(({ key }) => key);
}

test("an answer that cannot be read is an unknown outcome, and asks the store no more", async () => {
  const { one, two, id, ...replicas } = await startTwo({ timeouts: { leaseMs: 300 } });
  const first = await takeEventId(await one.client.post(id, toolCall(7, "list")));
  const [key] = await keysOf(replicas.store, "answer");
  const { revision } = (await replicas.store.get(key!))!;
  await replicas.store.put(key!, { version: 2 }, revision, { owner: "" });
  one.kill();
  const [answer] = await readMessages(await two.client.get(id, first));
  expect(answer?.message).toMatchObject({ id: 7, error: { data: { code: "OUTCOME_UNKNOWN" } } });
}, 5_000);

test("a client that has more than was stored gets the unknown outcome, whoever asked first", async () => {
  const replicas = createReplicas({ timeouts: { leaseMs: 300 } });
  const { store, ...control } = createFaultyStore(replicas.store);
  const one = replicas.start({ store, createServer: createReporter });
  const two = replicas.start();
  const id = await one.client.initialize();
  // The process dies before it has stored what it sent.
  control.meet("*", (run, { keys }) =>
    keys.join().includes('"messages') ? new Promise(() => {}) : run(),
  );
  const call = await one.client.post(id, toolCall(7, "report", { end: "hang" }));
  const events = await takeEvents(call, 3);
  control.meet("*", () => new Promise(() => {}));
  for (const event of [events[0]!, events[2]!]) {
    const answer = (await readMessages(await two.client.get(id, event.eventId))).at(-1)!;
    expect(answer.message).toMatchObject({ id: 7, error: { data: { code: "OUTCOME_UNKNOWN" } } });
    expect((await two.client.get(id, answer.eventId)).status).toBe(204);
  }
});

test("a batch that died is told of each of its requests once, wherever its client left", async () => {
  const { one, two, id } = await startTwo({ timeouts: { leaseMs: 300 } }, {}, "2025-03-26");
  const batch = [toolCall(1, "list"), toolCall(2, "hang"), toolCall(3, "hang")];
  const [listed] = await takeEvents(await one.client.post(id, batch), 1);
  expect(listed?.message.id).toBe(1);
  one.kill();
  const lost = await readMessages(await two.client.get(id, listed!.eventId));
  expect(lost.map(({ message }) => message.id)).toEqual([2, 3]);
  const rest = await readMessages(await two.client.get(id, lost[0]!.eventId));
  expect(rest).toEqual([lost[1]]);
});

test("whoever heard of answers that are kept no longer has nothing to come back for", async () => {
  const { client, id } = await startSession({ events: { maxAnswers: 0 } }, {}, "2025-03-26");
  const batch = [toolCall(1, "list"), toolCall(2, "list")];
  const [listed] = await takeEvents(await client.post(id, batch), 1);
  await client.post(id, toolCall(3, "list"));
  const lost = await readMessages(await client.get(id, listed!.eventId));
  expect(lost.map(({ message }) => message.error?.data?.code)).toEqual([
    "OUTCOME_UNKNOWN",
    "OUTCOME_UNKNOWN",
  ]);
  expect(await readMessages(await client.get(id, lost[0]!.eventId))).toEqual([lost[1]]);
  expect((await client.get(id, lost[1]!.eventId)).status).toBe(204);
});

test("messages are stored one after the other while their call runs", async () => {
  const replicas = createReplicas();
  const { store, ...control } = createFaultyStore(replicas.store);
  const one = replicas.start({ store, createServer: createReporter });
  const id = await one.client.initialize();
  const running = { now: 0, most: 0 };
  control.meet("*", async (run, { keys }) => {
    if (!keys.join().includes('"messages"')) return await run();
    running.most = Math.max(running.most, ++running.now);
    await new Promise((resolve) => setTimeout(resolve, 25));
    running.now -= 1;
    return await run();
  });
  const first = await takeEventId(
    await one.client.post(id, toolCall(7, "report", { end: "hang" })),
  );
  const start = first.replace(".1.", ".0.");
  const messages = await takeEvents(await replicas.start().client.get(id, start), 3);
  expect(messages.map(({ message }) => message.params?.["data"])).toEqual([1, 2, 3]);
  expect(running.most).toBe(1);
}, 5_000);

test("all messages of a call come, however many pages the store has of them", async () => {
  const inner = createMemoryStore();
  const store = {
    ...inner,
    list: (query: StoreListQuery) => inner.list({ ...query, limit: 1 }),
  };
  const replicas = createReplicas({ createServer: createReporter });
  const { client } = replicas.start({ store });
  const id = await client.initialize();
  const first = await takeEventId(await client.post(id, toolCall(7, "report", { end: "answer" })));
  await expect.poll(() => keysOf(store, "answer")).toHaveLength(1);
  const messages = await readMessages(await client.get(id, first));
  expect(messages.map(({ message }) => message.params?.["data"] ?? message.id)).toEqual([
    ...[1, 2, 3],
    7,
  ]);
});

/** A server whose tool says three things, each stored alone. */
function createReporter(): McpServer {
  const mcp = new McpServer({ name: "reporter", version: "1" }, { capabilities: { logging: {} } });
  const inputSchema = { end: z.enum(["hang", "answer"]) };
  mcp.registerTool("report", { inputSchema }, async ({ end }, { sendNotification }) => {
    for (const data of [1, 2, 3]) {
      await sendNotification({ method: "notifications/message", params: { level: "info", data } });
      await new Promise((resolve) => setTimeout(resolve, 15));
    }
    if (end === "hang") await new Promise(() => {});
    return { content: [] };
  });
  return mcp;
}
