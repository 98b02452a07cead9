import type { SessionStore } from "@durable-mcp/core";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { hashSessionId } from "../../../server/src/base/session-id.ts";
import { readMessages, takeEventId, takeEvents } from "../../../server/test/raw-client.ts";
import { availableStores } from "../faults/available-stores.ts";
import { openReplicas, type ReplicasOnStore, toolCall, wordOf } from "./replicas-on-store.ts";
import { isAbout } from "./watched-store.ts";

// Each waits for leases to end, so two stores are enough.
const stores = availableStores.filter((kind) => kind !== "postgres");

describe.each(stores)(
  "answers that outlive their replica, or do not (%s)",
  { concurrent: true },
  (kind) => {
    let replicas: ReplicasOnStore;
    beforeAll(async () => {
      replicas = await openReplicas(kind);
    });
    afterAll(() => replicas?.close());

    const startTwo = () => Promise.all([replicas.start(), replicas.start()]);

    test("a replica takes over from one that died: state and stored messages, but not the call", async () => {
      const [one, two] = await startTwo();
      const id = await one.client.initialize();
      await one.client.call(id, "add", { text: "a" });
      const call = await one.client.post(id, toolCall(7, "tell", { steps: 50, ms: 40 }));
      const seen = await takeEvents(call, 2);
      await vi.waitFor(
        async () => expect(await storedMessages(two.store, id)).toBeGreaterThan(2),
        20_000,
      );
      one.hold(() => true);
      const rest = (await readMessages(await two.client.get(id, seen[1]!.eventId))).map(wordOf);
      expect(rest.at(-1)).toBe("OUTCOME_UNKNOWN");
      expect(rest.length).toBeGreaterThan(1);
      expect(rest.slice(0, -1)).toEqual(rest.slice(0, -1).map((_, index) => `step ${index + 3}`));
      expect(await two.client.call(id, "list")).toMatchObject({ text: "a" });
    });

    test("an answer that a deploy did not wait for is not lost silently", async () => {
      const [one, two] = await startTwo();
      const id = await one.client.initialize();
      const first = await takeEventId(await one.client.post(id, toolCall(7, "hang")));
      await one.handler.drain({ timeoutMs: 50 });
      const [answer] = await readMessages(await two.client.get(id, first));
      expect(wordOf(answer!)).toBe("OUTCOME_UNKNOWN");
    });

    test("a deploy ends listening and resumed streams, which go on elsewhere, and waits for calls", async () => {
      const [one, two] = await startTwo();
      const id = await one.client.initialize();
      const ours = one.client.post(id, toolCall(1, "wait", { ms: 400 }));
      const theirs = await takeEventId(await two.client.post(id, toolCall(2, "wait", { ms: 800 })));
      const listening = await one.client.get(id);
      const resumed = await one.client.get(id, theirs);
      const drained = one.handler.drain();
      await listening.text();
      expect((await readMessages(resumed)).map(wordOf)).toEqual([]);
      const rest = await readMessages(await two.client.get(id, theirs));
      expect((await readMessages(await ours)).map(wordOf)).toEqual(["waited"]);
      expect(rest.map(wordOf)).toEqual(["waited"]);
      await drained;
    });

    test("tells an answer that is kept no longer from one that is still to come", async () => {
      const options = { events: { maxAnswers: 1 }, timeouts: { leaseMs: 10_000 } };
      const [one, two] = [await replicas.start(options), await replicas.start(options)];
      const id = await one.client.initialize({ elicitation: { form: {} } });
      const asking = await one.client.post(id, toolCall("running", "ask_related"));
      const [question] = await takeEvents(asking, 1);
      const ids = [];
      for (const call of ["first", "second"]) {
        const response = await one.client.post(id, toolCall(call, "wait", { ms: 20 }));
        const [head, rest] = response.body!.tee();
        ids.push(await takeEventId(new Response(head)));
        await new Response(rest).text();
        expect((await one.client.call(id, "list")).status).toBe(200);
      }
      // The lease of the busy replica, which does not end, says so.
      const evicted = await readMessages(await two.client.get(id, ids[0]));
      expect(evicted.map(wordOf)).toEqual(["OUTCOME_UNKNOWN"]);
      const running = two.client.get(id, question!.eventId).then(readMessages);
      const result = { action: "accept", content: { name: "Ada" } };
      await two.client.post(id, { id: question!.message.id, result });
      expect((await running).map(wordOf)).toEqual(['{"name":"Ada"}']);
    });

    test("a slow replica and the one that declares its call lost agree on one outcome", async () => {
      const timeouts = { leaseMs: 300, pollIntervalMs: 10 };
      /** @returns whether the call was lost */
      async function race(ms: number): Promise<boolean> {
        const [slow, other] = await Promise.all([1, 2].map(() => replicas.start({ timeouts })));
        const id = await slow!.client.initialize();
        const call = await slow!.client.post(id, toolCall(7, "add_slowly", { text: "x", ms }));
        const [own, copy] = call.body!.tee();
        const first = await takeEventId(new Response(own));
        // It is not dead, only too slow to say so.
        slow!.hold(isAbout("replica"));
        const resumed = await readMessages(await other!.client.get(id, first));
        const answer = await readMessages(new Response(copy, { headers: call.headers }));
        expect(resumed.map(wordOf)).toEqual(answer.map(wordOf));
        const isLost = wordOf(answer.at(-1)!) === "OUTCOME_UNKNOWN";
        expect((await other!.client.call(id, "list")).text).toBe(isLost ? "" : "x");
        return isLost;
      }
      expect(await race(1)).toBe(false);
      expect(await race(2_000)).toBe(true);
      // At the end of the lease, it may be either.
      await Promise.all(Array.from({ length: 12 }, (_, index) => race(285 + 3 * index)));
    });
  },
);

async function storedMessages(store: SessionStore, sessionId: string): Promise<number> {
  const hash = await hashSessionId(sessionId);
  const { records } = await store.list({ limit: 1_000 });
  return records.filter(({ key }) => key.includes(`"messages","${hash}"`)).length;
}
