import { expect, test } from "vitest";
import { killAll, type KillSubject, type KillTimes, killTable } from "./harness.ts";
import { killedSignIns } from "./sign-ins.ts";
import { killedSteps } from "./steps.ts";

// `npm run lab -- kill --times 1000`, on each store, for more.

const signInPoints = [
  "start: answer received",
  "start: after put 2",
  "callback: before delete 1",
  "callback: request sent",
  "callback: after put 1",
  "refresh: after put 1",
  "refresh: after put 2",
  "refresh: answer received",
  "refresh: after put 3",
  "refresh twice: after put 1",
] as const;

/** Kills on SQLite, as often at each point. */
async function expectNoFaults<POINT extends string, TASK extends object, COUNT extends string>(
  subject: KillSubject<POINT, TASK, COUNT>,
  { timesEach = 1, freezes }: { timesEach?: number } & Pick<KillTimes, "freezes"> = {},
) {
  const times = timesEach * subject.points.length;
  const rows = await killAll(subject, { store: "sqlite", times, ...(freezes && { freezes }) });
  console.log(killTable(subject, rows));
  expect(rows.flatMap(({ faults }) => faults)).toEqual([]);
  return rows;
}

test("a step that is killed at any point loses nothing that was saved, and the next goes on (S5, S59)", async () => {
  const timesEach = 1;
  const rows = await expectNoFaults(killedSteps, { timesEach });
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
  await expectNoFaults(killedSteps, { freezes: true });
});

test("a process that is killed in a sign-in or a refresh sends nothing too often, and loses nothing that it saved", async () => {
  const rows = await expectNoFaults({ ...killedSignIns, points: signInPoints });
  const asked = rows.filter(({ counts }) => counts.signIn > 0).map(({ point }) => point);
  expect(asked).toEqual([
    "callback: request sent",
    "refresh: after put 2",
    "refresh: answer received",
  ]);
});

test("a process that is frozen in a sign-in or a refresh for longer than its lease changes nothing for others", async () => {
  await expectNoFaults({ ...killedSignIns, points: signInPoints }, { freezes: true });
});
