import { createMemoryStore } from "@durable-mcp/core";
import { expect, test } from "vitest";
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
