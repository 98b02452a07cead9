import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  type ReceivedMessage,
  readMessages,
  takeEvents,
  whenListening,
} from "../../../server/test/raw-client.ts";
import { availableStores } from "../faults/available-stores.ts";
import { openReplicas, type ReplicasOnStore, wait } from "./replicas-on-store.ts";

// No replica looks by itself in this time: what they hear comes through the store's notices.
const timeouts = { leaseMs: 60_000, pollIntervalMs: 60_000 };

describe.each(availableStores)(
  "a listening stream and another replica (%s)",
  { concurrent: true },
  (kind) => {
    let replicas: ReplicasOnStore;
    beforeAll(async () => {
      replicas = await openReplicas(kind);
    });
    afterAll(() => replicas?.close());

    test("gets its messages soon, and reads nothing while there are none", async () => {
      const [one, two] = [await replicas.start({ timeouts }), await replicas.start({ timeouts })];
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

    test("shares the messages with a second one: each gets to one of them", async () => {
      const [one, two] = [await replicas.start({ timeouts }), await replicas.start({ timeouts })];
      const id = await one.client.initialize();
      const older = await one.client.get(id);
      const newer = await two.client.get(id);
      const both = [older, newer].map(readMessages);
      for (let n = 0; n < 5; n++) {
        await one.client.call(id, "announce");
        await two.client.call(id, "announce");
      }
      await wait(300);
      // The newer one got them; when it ends, the older one takes over.
      await two.handler.drain();
      for (let n = 0; n < 5; n++) await one.client.call(id, "announce");
      await wait(300);
      await one.handler.drain();
      const got = (await Promise.all(both)).map((messages: ReceivedMessage[]) =>
        messages.map(({ eventId }) => eventId!),
      );
      expect(new Set(got.flat()).size).toBe(got.flat().length);
      expect(got.flat()).toHaveLength(15);
    });
  },
);
