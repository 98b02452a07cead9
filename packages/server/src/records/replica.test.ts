import { createMemoryStore } from "@durable-mcp/core";
import { expect, test } from "vitest";
import { withDefaults } from "../base/settings.ts";
import { createReplica } from "./replica.ts";

// A lease that does not fit into a store's record would not be renewed, and the process count as dead.
test("a process with very many calls in flight lives all the same, and all of them are", async () => {
  const clock = { now: 1_000_000 };
  const now = () => clock.now;
  const store = createMemoryStore({ now });
  const settings = withDefaults({ now });
  const [one, two] = [createReplica(store, settings), createReplica(store, settings)];
  const calls = Array.from({ length: 50_000 }, (_, n) => `AAAAAAAAAAAAAAAA.${n.toString(36)}`);
  const holds = [];
  for (const call of calls) holds.push(await one.hold(call));
  clock.now += 6_000;
  await one.hold("last");
  expect(await two.look(one.token, calls[40_000]!, 1)).toBe("in-flight");
  for (const { release } of holds) release();
  clock.now += 6_000;
  await one.hold("later");
  expect(await two.look(one.token, calls[40_000]!, 1)).toBe("finished");
  expect(await two.look(one.token, "later", 1)).toBe("in-flight");
  await one.leave();
  expect(await two.look(one.token, "later", 1)).toBe("dead");
});
