import { expect, test } from "vitest";
import { runChaos } from "./chaos.ts";
import { failEachOperation } from "./single-faults.ts";

// `npm run lab -- chaos` on each store, and `single-faults` with every operation, for all of it.

test("chats whose processes, requests and stores fail at random lose and double nothing, and go on", async () => {
  const { violations, faults } = await runChaos({ store: "sqlite", rounds: 10, seed: 1_000 });
  expect(violations).toEqual([]);
  expect(faults).toBeGreaterThan(10);
});

test("an operation that fails once, of a store or of the wire, loses no call, and is told as what it is", async () => {
  const only = "task of 2026-07-28";
  const { violations, tried } = await failEachOperation({ store: "sqlite", only, every: 61 });
  expect(violations).toEqual([]);
  expect(tried).toBeGreaterThan(10);
});
