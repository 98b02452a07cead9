import { expect, test } from "vitest";
import { storeKinds, storeUnavailable } from "../durable/store-place.ts";
import { runChaos } from "./chaos.ts";
import { runNews } from "./news.ts";
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

// Each takes most of a minute: CI has one, the night all.
test.for(storeKinds.filter((kind) => kind === "sqlite" || process.env["TEST_MATRIX"]))(
  "watches whose lookers are killed deliver each change once, and the last one, on %s",
  { timeout: 120_000 },
  async (store, { skip }) => {
    skip(storeUnavailable[store] !== undefined, storeUnavailable[store]);
    const { violations, kills, restarts } = await runNews({ store, rounds: 1, seed: 10 });
    expect(violations).toEqual([]);
    expect(kills).toBeGreaterThan(3);
    expect(restarts).toBeGreaterThan(0);
  },
);
