import { expect, test } from "vitest";
import { raceRefreshes } from "./race-refreshes.ts";
import { raceRegistrations } from "./race-registrations.ts";

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

test("of living processes that meet an authorization server for the first time, one registers, and all sign in", async () => {
  const raced = await raceRegistrations({ store: "sqlite", processes: 4, times: 2 });
  expect(raced).toEqual({ registrations: 2, signIns: 8, faults: [] });
});
