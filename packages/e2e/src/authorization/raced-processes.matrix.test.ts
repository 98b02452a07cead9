import { expect, test } from "vitest";
import { raceRefreshes } from "./race-refreshes.ts";
import { raceRegistrations } from "./race-registrations.ts";

// `npm run lab -- race-sign-in --times 200`, on each store, with 20 processes.

test("of living processes that meet an expired token at once, one refreshes it", async () => {
  const times = 4;
  const processes = 5;
  const { refreshes, answered, faults } = await raceRefreshes({
    ...{ store: "sqlite", processes, times },
  });
  expect(faults).toEqual([]);
  expect({ refreshes, answered }).toEqual({ refreshes: times, answered: times * processes });
});

test("of living processes that meet an authorization server for the first time, one registers, and all sign in", async () => {
  const raced = await raceRegistrations({ store: "sqlite", processes: 4, times: 1 });
  expect(raced).toEqual({ registrations: 1, signIns: 4, faults: [] });
});
