import { createMemoryStore } from "@durable-mcp/core";
import { expect, test } from "vitest";
import {
  createRawClient,
  initializeRequest,
  readMessages,
  takeEventId,
  toolCall,
} from "../../test/raw-client.ts";
import { createReplicas } from "../../test/replicas.ts";

/** Sessions, until there is room for none. */
async function fill(client: ReturnType<typeof createRawClient>): Promise<string[]> {
  const ids: string[] = [];
  for (;;) {
    const id = await client.initialize().catch((error: Error) => error);
    if (id instanceof Error) return ids;
    ids.push(id);
  }
}

function startWith(maxRecords: number, isBatching = true) {
  const store = createMemoryStore({ maxRecords });
  if (!isBatching) delete store.batch;
  const replicas = createReplicas();
  const start = () => replicas.start({ store });
  const count = async (kind: string) => {
    const { records } = await store.list({ limit: 1_000 });
    return records.filter(({ key }) => key.includes(`"${kind}"`)).length;
  };
  return { ...replicas, store, start, count };
}

test("a store that has room for no new session goes on with those that exist", async () => {
  const { start, events, count } = startWith(50);
  const { client } = start();
  const ids = await fill(client);
  // A fifth stays free for their answers.
  expect(ids).toHaveLength(40);
  events.length = 0;
  const refused = await client.post(undefined, initializeRequest);
  expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "1"]);
  // It was tried twice.
  expect(events.map(({ type }) => type)).toEqual(["store-failed", "store-failed"]);
  for (const id of ids) {
    expect(await client.call(id, "add", { text: "a" })).toMatchObject({ text: "1 notes" });
  }
  expect(await count("session")).toBe(40);
});

test.each([
  ["with batches", true],
  ["without batches", false],
])(
  "when answers have taken the rest, sessions still answer and keep state (%s)",
  async (_, isBatching) => {
    const { start, count, store } = startWith(50, isBatching);
    const [one, two] = [start(), start()];
    const ids = await fill(one.client);
    for (let round = 1; round <= 3; round += 1) {
      for (const id of ids) {
        const answer = await one.client.call(id, "add", { text: "a" });
        expect(answer).toMatchObject({ text: `${round} notes` });
      }
    }
    expect((await store.list({ limit: 1_000 })).records.length).toBe(50);
    expect(await count("answer")).toBe(10);
    // From another process too.
    for (const id of ids)
      expect(await two.client.call(id, "list")).toMatchObject({ text: "a,a,a" });
  },
);

test("in a full store a new answer takes the room of the session's oldest one", async () => {
  const { start } = startWith(20);
  const { client } = start();
  const [id] = await fill(client);
  const before: string[] = [];
  for (let n = 0; n < 8; n += 1) {
    const { messages = [] } = await client.call(id, "list");
    before.push(messages[0]!.eventId!.replace(/^([^.]+)\.1\./, "$1.0."));
  }
  const resumed = async (eventId: string) => {
    const [answer] = await readMessages(await client.get(id, eventId));
    return answer?.message.result ? "answer" : answer?.message.error?.data?.code;
  };
  expect(await resumed(before[7]!)).toBe("answer");
  expect(await resumed(before[0]!)).toBe("OUTCOME_UNKNOWN");
});

test("a call whose answer found no room says so to a client that comes back", async () => {
  const { start, store } = startWith(10);
  const { client } = start();
  const [id] = await fill(client);
  await store.put("a", 1, null, { owner: "" });
  const broken = await client.post(id, toolCall(7, "wait", { ms: 30 }));
  const first = await takeEventId(broken);
  await store.put("b", 1, null, { owner: "" }).catch(() => {});
  const [answer] = await readMessages(await client.get(id, first));
  expect(answer?.message).toMatchObject({ id: 7, error: { data: { code: "OUTCOME_UNKNOWN" } } });
});
