import { expect, test } from "vitest";
import { killAll, killTable } from "./kill-harness.ts";
import { killPoints } from "./kill-points.ts";
import { killedSteps } from "./kill-steps.ts";

// `npm run kill -- --times 1000`, on each store, for more.
const timesEach = 3;

test("a step that is killed at any point loses nothing that was saved, and the next goes on (S5, S59)", async () => {
  const rows = await killAll(killedSteps, {
    store: "sqlite",
    times: timesEach * killPoints.length,
  });
  console.log(killTable(killedSteps, rows));
  expect(rows.flatMap(({ faults }) => faults)).toEqual([]);
  for (const { kills } of rows) expect(kills).toBe(timesEach);
  // A session is committed from its save on, and not before.
  const resumedAt = Object.fromEntries(rows.map(({ point, counts }) => [point, counts.resumed]));
  expect(resumedAt).toMatchObject({
    loaded: timesEach,
    "id received": 0,
    "before save": 0,
    saved: timesEach,
    "call sent": timesEach,
    "during end": 0,
  });
});

test("a step that is frozen at any point, and goes on after the next, writes over nothing and leaves nothing behind", async () => {
  const times = killPoints.length;
  const rows = await killAll(killedSteps, { store: "sqlite", times, freezes: true });
  console.log(killTable(killedSteps, rows));
  expect(rows.flatMap(({ faults }) => faults)).toEqual([]);
});
