import { expect, test } from "vitest";
import { killAll, killTable } from "../durable/kill-harness.ts";
import { answerKillPoints } from "./answer-kill-points.ts";
import { killedAnswers } from "./kill-answers.ts";
import { raceAnswers } from "./race-answers.ts";

// `npm run kill:waiting -- --times 1000`, on each store, for more.

test("a process that is killed at any point sends no leg twice and loses no answer", async () => {
  const rows = await killAll(killedAnswers, { store: "sqlite", times: answerKillPoints.length });
  console.log(killTable(killedAnswers, rows));
  expect(rows.flatMap(({ faults }) => faults)).toEqual([]);
  for (const { kills } of rows) expect(kills).toBe(1);
});

test("of two answers at once one is sent", async () => {
  const { legs, refused, faults } = await raceAnswers({ store: "sqlite", rounds: 10 });
  expect(faults).toEqual([]);
  expect({ legs, refused }).toEqual({ legs: 10, refused: 10 });
});

test("a process that is frozen at any point, and goes on after others did, sends no leg twice and changes no result", async () => {
  const times = answerKillPoints.length;
  const rows = await killAll(killedAnswers, { store: "sqlite", times, freezes: true });
  console.log(killTable(killedAnswers, rows));
  expect(rows.flatMap(({ faults }) => faults)).toEqual([]);
});
