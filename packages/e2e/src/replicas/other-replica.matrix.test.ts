import type { SessionTimeouts } from "@durable-mcp/server";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import {
  readMessages,
  takeEventId,
  takeEvents,
  whenListening,
} from "../../../server/test/raw-client.ts";
import { availableStores } from "../faults/available-stores.ts";
import { openReplicas, type ReplicasOnStore, toolCall, wait, wordOf } from "./replicas-on-store.ts";

// The tests of the package have more, on one store in memory; these need the notices of a real one.

// No replica looks by itself in this time: what it hears comes through the store's notices.
const quiet = { leaseMs: 60_000 };

describe.each(availableStores)("beside another replica (%s)", { concurrent: true }, (kind) => {
  let replicas: ReplicasOnStore;
  beforeAll(async () => {
    replicas = await openReplicas(kind);
  });
  afterAll(() => replicas?.close());

  const startTwo = (timeouts: SessionTimeouts) =>
    Promise.all([replicas.start({ timeouts }), replicas.start({ timeouts })]);

  test("a call is cancelled, and a later call with its id is not", async () => {
    const [one, two] = await startTwo(quiet);
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

  test("a call gets the answer to its question, also twice at once", async () => {
    const [one, two] = await startTwo(quiet);
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

  test("a listening stream gets its messages soon, and reads nothing while there are none", async () => {
    const [one, two] = await startTwo({ ...quiet, pollIntervalMs: 60_000 });
    const id = await one.client.initialize();
    const listening = await whenListening(await two.client.get(id));
    const times: number[] = [];
    let reading = listening.body!;
    for (let round = 0; round < 5; round++) {
      const [head, rest] = reading.tee();
      reading = rest;
      const arrived = takeEvents(new Response(head), round + 1).then(() => performance.now());
      await one.client.call(id, "announce");
      const said = performance.now();
      times.push((await arrived) - said);
      await wait(50);
    }
    console.log(`${kind}: a message arrives after ms`, times.map(Math.round));
    // On a busy machine some take longer, but none waits until somebody looks.
    expect(Math.min(...times)).toBeLessThan(500);
    expect(Math.max(...times)).toBeLessThan(10_000);

    await wait(500);
    two.takeOperations();
    await wait(5_000);
    expect(two.takeOperations()).toEqual([]);
    const all = takeEvents(new Response(reading), 6);
    await one.client.call(id, "announce");
    expect(new Set((await all).map(({ eventId }) => eventId)).size).toBe(6);
  });

  // It waits for leases to end, so two stores are enough.
  test.skipIf(kind === "postgres")(
    "a slow replica and the one that declares its call lost agree on one outcome",
    async () => {
      const timeouts = { leaseMs: 300, pollIntervalMs: 10 };
      /** @returns whether the call was lost */
      async function race(ms: number): Promise<boolean> {
        const [slow, other] = await startTwo(timeouts);
        const id = await slow.client.initialize();
        const call = await slow.client.post(id, toolCall(7, "add_slowly", { text: "x", ms }));
        const [own, copy] = call.body!.tee();
        const first = await takeEventId(new Response(own));
        // It is not dead, only too slow to say so.
        slow.holdSignOfLife();
        const resumed = await readMessages(await other.client.get(id, first));
        const answer = await readMessages(new Response(copy, { headers: call.headers }));
        expect(resumed.map(wordOf)).toEqual(answer.map(wordOf));
        const isLost = wordOf(answer.at(-1)!) === "OUTCOME_UNKNOWN";
        expect((await other.client.call(id, "list")).text).toBe(isLost ? "" : "x");
        return isLost;
      }
      expect(await race(1)).toBe(false);
      expect(await race(2_000)).toBe(true);
      // At the end of the lease, it may be either.
      await Promise.all(Array.from({ length: 12 }, (_, index) => race(285 + 3 * index)));
    },
  );
});
