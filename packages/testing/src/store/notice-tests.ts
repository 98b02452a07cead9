import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import type { SessionStore } from "@durable-mcp/core";
import { expectRejection, put } from "./expectations.ts";
import type { StoreTest } from "./store-test.ts";

/** `publish` and `subscribe`, for stores that have them. */
export const noticeTests: readonly StoreTest[] = [
  {
    title: "has both of publish and subscribe, or neither",
    async run({ store }) {
      assert.equal(typeof store.publish, typeof store.subscribe);
    },
  },
  {
    title: "calls a subscriber when the subscription works, and after each notice",
    async run({ store, unique }) {
      if (!store.subscribe) return;
      await withCalls(store, unique, async ({ count, reach }) => {
        await reach(1);
        for (let round = 0; round < 3; round += 1) {
          const before = count();
          await store.publish!(unique);
          await reach(before + 1);
        }
      });
    },
  },
  {
    title: "calls the subscribers of other openers, of any topic",
    async run({ store, open, unique }) {
      if (!store.subscribe) return;
      const { store: other } = await open();
      const topics = ["", "é", "\0", "'", "漢字😀", "x".repeat(900), "X".repeat(900)];
      await Promise.all(
        topics.map((topic) =>
          withCalls(other, unique + topic, async ({ count, reach }) => {
            await reach(1);
            const before = count();
            await store.publish!(unique + topic);
            await reach(before + 1);
          }),
        ),
      );
    },
  },
  {
    title: "calls nobody after the end of a subscription, and everybody else still",
    async run({ store, unique }) {
      if (!store.subscribe) return;
      await withCalls(store, unique, async (ended) => {
        await withCalls(store, unique, async (stays) => {
          await Promise.all([ended.reach(1), stays.reach(1)]);
          ended.end();
          ended.end();
          const before = [ended.count(), stays.count()] as const;
          await store.publish!(unique);
          await stays.reach(before[1] + 1);
          assert.equal(ended.count(), before[0]);
        });
      });
    },
  },
  {
    title: "lets no reader miss a value, however notices and subscriptions fall",
    async run({ store, open, unique }) {
      if (!store.subscribe) return;
      const { store: other } = await open();
      const topics = Array.from({ length: 5 }, (_, n) => `${unique}${n}`);
      await Promise.all(
        topics.map(async (topic, n) => {
          const seen: unknown[] = [];
          const read = () =>
            void other.get(topic).then(
              (found) => seen.push(found?.value),
              () => undefined,
            );
          let revision = await put(store, topic, 0);
          await store.publish!(topic);
          await sleep(n * 3);
          const end = other.subscribe!(topic, read);
          for (let value = 1; value <= 20; value += 1) {
            revision = await put(store, topic, value, revision);
            await store.publish!(topic);
            if (value % 5 === 0) await sleep(Math.random() * 20);
          }
          await until(() => seen.includes(20), "the last value is to be seen");
          end();
        }),
      );
    },
  },
  {
    title: "refuses a topic that no database could hold",
    async run({ store }) {
      if (!store.publish || !store.subscribe) return;
      for (const topic of ["\ud83d", "x".repeat(1_001), undefined, 5]) {
        await expectRejection("CONNECTION_INVALID", "topic", () => store.publish!(topic as string));
        await expectRejection("CONNECTION_INVALID", "topic", async () =>
          store.subscribe!(topic as string, () => undefined),
        );
      }
    },
  },
];

/** A subscription that counts its calls. */
interface CountedCalls {
  readonly count: () => number;
  /** Waits for so many calls. */
  readonly reach: (calls: number) => Promise<void>;
  readonly end: () => void;
}

/** Subscribes to a topic while `run` runs. */
export async function withCalls(
  store: SessionStore,
  topic: string,
  run: (calls: CountedCalls) => Promise<void>,
): Promise<void> {
  let count = 0;
  const end = store.subscribe!(topic, () => {
    count += 1;
  });
  const reach = (calls: number) => until(() => count >= calls, "the subscriber is to be called");
  try {
    await run({ count: () => count, reach, end });
  } finally {
    end();
  }
}

async function until(isTrue: () => boolean, what: string): Promise<void> {
  for (const deadline = Date.now() + 20_000; !isTrue();) {
    assert.ok(Date.now() < deadline, what);
    await sleep(5);
  }
}
