import { expect, test } from "vitest";
import { raceRefreshes } from "./race-refreshes.ts";

// `npm run race:sign-in -- --times 200`, on each store, with 20 processes.

test("of living processes that meet an expired token at once, one refreshes it", async () => {
  const times = 8;
  const processes = 6;
  const { refreshes, answered, faults } = await raceRefreshes({
    ...{ store: "sqlite", processes, times },
  });
  expect(faults).toEqual([]);
  expect({ refreshes, answered }).toEqual({ refreshes: times, answered: times * processes });
});
