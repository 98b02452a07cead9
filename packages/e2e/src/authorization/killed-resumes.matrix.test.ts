import { expect, test } from "vitest";
import { killAll, killTable } from "../durable/kill-harness.ts";
import { killedResumes } from "./kill-resumes.ts";

// `npm run kill:sign-in -- --times 500`, on each store, for all points.
const points = [
  "resume: before put 1",
  "resume: after put 1",
  "resume: call sent",
  "resume: during put 2",
  "resume: after put 2",
  "refused: before put 2",
  "refused: after put 2",
] as const;

test("a call that has waited for a sign-in is carried out at most once, wherever its process is killed", async () => {
  const subject = { ...killedResumes, points };
  const rows = await killAll(subject, { store: "sqlite", times: points.length });
  console.log(killTable(subject, rows));
  expect(rows.flatMap(({ faults }) => faults)).toEqual([]);
  // A call that was refused is made again after another sign-in.
  const asked = rows.filter(({ counts }) => counts.signIn > 0).map(({ point }) => point);
  expect(asked).toEqual(["refused: after put 2"]);
});
