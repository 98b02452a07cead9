import { expect, test } from "vitest";
import { raceAnswers } from "../waiting/race-answers.ts";
import { killedAnswers } from "./answers.ts";
import { killAll, type KillSubject, type KillTimes, killTable } from "./harness.ts";
import { killedResumes } from "./resumes.ts";
import { killedSignIns } from "./sign-ins.ts";
import { killedSignInsBelow, killedSubAgents } from "./sub-agents.ts";
import { killedSteps } from "./steps.ts";
import { killedTasks } from "./tasks.ts";

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

const resumePoints = [
  "resume: before put 1",
  "resume: after put 1",
  "resume: call sent",
  "resume: during put 2",
  "resume: after put 2",
  "refused: before put 2",
  "refused: after put 2",
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
  const timesEach = 3;
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

test("a process that is killed at any point sends no leg twice and loses no answer", async () => {
  for (const { kills } of await expectNoFaults(killedAnswers)) expect(kills).toBe(1);
});

test("a process that is frozen at any point, and goes on after others did, sends no leg twice and changes no result", async () => {
  await expectNoFaults(killedAnswers, { freezes: true });
});

test("of two answers at once one is sent", async () => {
  const { legs, refused, faults } = await raceAnswers({ store: "sqlite", rounds: 10 });
  expect(faults).toEqual([]);
  expect({ legs, refused }).toEqual({ legs: 10, refused: 10 });
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

test("a call that has waited for a sign-in is carried out at most once, wherever its process is killed", async () => {
  const rows = await expectNoFaults({ ...killedResumes, points: resumePoints });
  // A call that was refused is made again after another sign-in.
  const asked = rows.filter(({ counts }) => counts.signIn > 0).map(({ point }) => point);
  expect(asked).toEqual(["refused: after put 2"]);
});

test.each([
  ["killed", false],
  ["frozen", true],
])(
  "a call that its server keeps is carried out once, wherever its process is %s, and its result is found",
  async (_, freezes) => {
    const ofShare = killedTasks.points.filter((_point, at) => at % 9 === (freezes ? 4 : 0));
    await expectNoFaults({ ...killedTasks, points: ofShare }, { freezes });
  },
);

const isOfShare = (shape: string) => (point: string) =>
  point.startsWith(shape) && /after put|sent|received|save/.test(point);

test("a call of a sub-agent is carried out once, and its answer reaches the root, wherever a process is killed", async () => {
  const ofShare = killedSubAgents.points.filter(isOfShare("own"));
  const rows = await expectNoFaults({ ...killedSubAgents, points: ofShare });
  // Only a leg to the server may be unknown: a sub-agent goes on from its messages.
  const unknown = rows.filter(({ counts }) => counts.unknown > 0).map(({ point }) => point);
  expect(unknown).toEqual(["own, answer: after put 1", "own, answer: after put 3"]);
});

test("a sub-agent's call that has waited for a sign-in is carried out at most once, and the root goes on", async () => {
  const ofShare = killedSignInsBelow.points.filter(isOfShare("durable"));
  const rows = await expectNoFaults({ ...killedSignInsBelow, points: ofShare });
  const unknown = rows.filter(({ counts }) => counts.unknown > 0).map(({ point }) => point);
  expect(unknown).toEqual([
    "durable, resume: call sent",
    "durable, resume: answer received",
    "durable, resume: after put 2",
  ]);
});
