import { expect, test } from "vitest";
import { killAll, type KillSubject, killTable } from "../durable/kill-harness.ts";
import { killedSignIns } from "./kill-sign-ins.ts";
import type { KilledSignInTask, SignInKillPoint } from "./sign-in-kill-points.ts";
import type { SignInCount } from "./sign-in-world.ts";

// `npm run kill:sign-in -- --times 500`, on each store, for all points.
const points = [
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

test("a process that is killed in a sign-in or a refresh sends nothing too often, and loses nothing that it saved", async () => {
  const subject: KillSubject<SignInKillPoint, KilledSignInTask, SignInCount> = {
    ...killedSignIns,
    points,
  };
  const rows = await killAll(subject, { store: "sqlite", times: points.length });
  console.log(killTable(subject, rows));
  expect(rows.flatMap(({ faults }) => faults)).toEqual([]);
  const asked = rows.filter(({ counts }) => counts.signIn > 0).map(({ point }) => point);
  expect(asked).toEqual([
    "callback: request sent",
    "refresh: after put 2",
    "refresh: answer received",
  ]);
});
