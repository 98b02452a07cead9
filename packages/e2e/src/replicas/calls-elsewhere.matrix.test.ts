import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { hashSessionId } from "../../../server/src/base/session-id.ts";
import {
  readMessages,
  takeEventId,
  takeEvents,
  whenListening,
} from "../../../server/test/raw-client.ts";
import { availableStores } from "../faults/available-stores.ts";
import { openReplicas, type ReplicasOnStore, toolCall, wordOf } from "./replicas-on-store.ts";

const answer = { result: { action: "accept", content: { name: "Ada" } } };

// Neither replica looks by itself in this time: what they hear comes through the store's notices.
const timeouts = { leaseMs: 60_000 };

describe.each(availableStores)("a call on another replica (%s)", { concurrent: true }, (kind) => {
  let replicas: ReplicasOnStore;
  beforeAll(async () => {
    replicas = await openReplicas(kind);
  });
  afterAll(() => replicas?.close());

  const startTwo = () => Promise.all([replicas.start({ timeouts }), replicas.start({ timeouts })]);

  test("is cancelled, and a later call with its id is not", async () => {
    const [one, two] = await startTwo();
    const id = await one.client.initialize();
    const cancelled = await one.client.post(id, toolCall(7, "wait", { ms: 60_000 }));
    await takeEventId(cancelled);
    const cancel = { method: "notifications/cancelled", params: { requestId: 7 } };
    expect((await two.client.post(id, cancel)).status).toBe(202);
    await vi.waitFor(() => expect(one.lines).toContain("aborted"), 20_000);

    // Long enough for its replica to look for cancellations.
    const later = await one.client.call(id, "wait", { ms: 300 }, 7);
    expect(later.text).toBe("waited");
    expect(await two.client.call(id, "wait", { ms: 300 }, 7)).toMatchObject({ text: "waited" });
    expect(one.lines.filter((line) => line === "aborted")).toHaveLength(1);
  });

  test("gets the answer to its question, also twice at once", async () => {
    const [one, two] = await startTwo();
    const id = await one.client.initialize({ elicitation: { form: {} } });
    const asked = await Promise.all(
      [1, 2].map(async (call) => {
        const response = await one.client.post(id, toolCall(call, "ask_related"));
        const [head, rest] = response.body!.tee();
        const [question] = await takeEvents(new Response(head), 1);
        return { question: question!.message.id!, rest: new Response(rest) };
      }),
    );
    const names = ["Ada", "Grace"];
    for (const [index, { question }] of asked.entries()) {
      const result = { action: "accept", content: { name: names[index] } };
      expect((await two.client.post(id, { id: question, result })).status).toBe(202);
    }
    const ends = await Promise.all(asked.map(async ({ rest }) => await readMessages(rest)));
    expect(ends.map((messages) => wordOf(messages.at(-1)!))).toEqual(
      names.map((name) => JSON.stringify({ name })),
    );
  });

  test("ends with its session, and so does a listening stream", async () => {
    const [one, two] = await startTwo();
    const id = await one.client.initialize({ elicitation: { form: {} } });
    const listening = await whenListening(await one.client.get(id));
    const call = await one.client.post(id, toolCall(7, "hang"));
    const [head, rest] = call.body!.tee();
    await takeEventId(new Response(head));
    expect((await two.client.end(id)).status).toBe(200);
    expect((await readMessages(new Response(rest))).map(wordOf)).toEqual(["OUTCOME_UNKNOWN"]);
    await listening.text();
    await vi.waitFor(() => expect(one.handler.liveSessions).toBe(0), 20_000);
    expect(await one.client.call(id, "list")).toMatchObject({ status: 404 });
    expect((await one.client.get(id)).status).toBe(404);
    const hash = await hashSessionId(id);
    const { records } = await one.store.list({ limit: 1_000 });
    const left = records.filter(({ key }) => key.includes(hash!));
    // Only how the call ended, for a client that comes back.
    const kinds = left.map(({ key }) => (JSON.parse(key) as string[])[2]);
    expect(kinds.filter((kindOfKey) => kindOfKey !== "answer")).toEqual([]);
  });

  test("finds the log level and the subscriptions that its client told the other one", async () => {
    const [one, two] = await startTwo();
    const id = await one.client.initialize();
    const tell = async (method: string, params: object) =>
      await readMessages(await one.client.post(id, { id: method, method, params }));
    await tell("logging/setLevel", { level: "warning" });
    await tell("resources/subscribe", { uri: "a://1" });
    await tell("resources/subscribe", { uri: "a://2" });
    await two.client.call(id, "list");
    const restored = ["initialized", "level warning", "subscribed a://1", "subscribed a://2"];
    expect(two.lines).toEqual(restored);
    await tell("resources/unsubscribe", { uri: "a://1" });
    await two.client.call(id, "list");
    expect(two.lines).toEqual([...restored, "unsubscribed a://1"]);
  });

  test("is followed by a client that came back, also when that stream breaks in turn", async () => {
    const [one, two] = await startTwo();
    const id = await one.client.initialize();
    const call = await one.client.post(id, toolCall(7, "tell", { steps: 6, ms: 60 }));
    const [first] = await takeEvents(call, 1);
    const some = await takeEvents(await two.client.get(id, first!.eventId), 2);
    const rest = await readMessages(await two.client.get(id, some.at(-1)!.eventId));
    expect([first!, ...some, ...rest].map(wordOf)).toEqual([
      ...[1, 2, 3, 4, 5, 6].map((step) => `step ${step}`),
      "told",
    ]);
  });

  test("hands out its answer where the client polls for it", async () => {
    const [one, two] = await startTwo();
    const id = await one.client.initialize();
    const ended = await readMessages(
      await one.client.post(id, toolCall(7, "report", { steps: 3 })),
    );
    expect(ended.map(wordOf)).toEqual(["step 1"]);
    const rest = await readMessages(await two.client.get(id, ended[0]!.eventId));
    expect(rest.map(wordOf)).toEqual(["step 2", "step 3", "3 steps"]);
    expect((await one.client.get(id, rest.at(-1)!.eventId)).status).toBe(204);
  });

  test("asks under ids that the other one's answers do not meet", async () => {
    const [one, two] = await startTwo();
    const id = await one.client.initialize({ elicitation: { form: {} } });
    const open = await Promise.all(
      [one, two].map(async ({ client }) => {
        const response = await client.post(id, toolCall(7, "ask_related"));
        const [head, rest] = response.body!.tee();
        const [question] = await takeEvents(new Response(head), 1);
        return { question: question!.message.id!, rest: new Response(rest) };
      }),
    );
    // Each at the other replica.
    await one.client.post(id, { id: open[1]!.question, ...answer });
    const second = await readMessages(open[1]!.rest);
    expect(wordOf(second.at(-1)!)).toBe('{"name":"Ada"}');
    await two.client.post(id, { id: open[0]!.question, ...answer });
    const first = await readMessages(open[0]!.rest);
    expect(wordOf(first.at(-1)!)).toBe('{"name":"Ada"}');
  });
});
