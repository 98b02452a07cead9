import { createMemoryStore } from "@durable-mcp/core";
import { expect, test } from "vitest";
import { createFaultyStore } from "@durable-mcp/testing";
import { withDefaults } from "../base/settings.ts";
import { createReplica } from "./replica.ts";
import { createSignals } from "./signals.ts";

test("a signal that comes while nobody waits is not lost, and a subscription ends with its last watch", async () => {
  const store = createMemoryStore();
  const open = { count: 0 };
  const signals = createSignals(
    {
      ...store,
      subscribe: (topic, listener) => {
        open.count += 1;
        const end = store.subscribe!(topic, listener);
        return () => {
          open.count -= 1;
          end();
        };
      },
    },
    1,
  );
  const never = new AbortController().signal;
  const [one, two] = [signals.watch("a"), signals.watch("a")];
  expect(open.count).toBe(1);
  // That of the new subscription.
  await one.next(60_000, never);
  signals.send("a");
  await one.next(60_000, never);
  one.stop();
  expect(open.count).toBe(1);
  two.stop();
  expect(open.count).toBe(0);
}, 2_000);

const settings = withDefaults({ timeouts: { leaseMs: 60 } });
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

test("a lease that is given back while it is renewed stays given back", async () => {
  const { store, ...control } = createFaultyStore(createMemoryStore());
  const replica = createReplica(store, settings);
  control.meet("*", async (run, { name: operation }) => {
    if (operation === "put") await pause(15);
    return await run();
  });
  const holding = replica.hold("a.0");
  const leaving = replica.leave();
  await holding;
  await leaving;
  expect((await store.list({ limit: 1 })).records).toEqual([]);
});

test("a call whose lease could not be written is not held", async () => {
  const { store, ...control } = createFaultyStore(createMemoryStore());
  const replica = createReplica(store, settings);
  control.meet("*", () => Promise.reject(new Error("down")));
  await expect(replica.hold("a.0")).rejects.toThrow("down");
  control.heal();
  expect(await replica.look(replica.token, "a.0", 0)).toBe("finished");
  await pause(80);
  expect((await store.list({ limit: 1 })).records).toEqual([]);
});
