import { expect, test } from "vitest";
import { judgeCall, type JudgedCall } from "./judge.ts";

const settled: JudgedCall = {
  ...{ topic: "c1-1-0", effects: 1, told: "All about c1-1-0 in 2001.", asks: true },
  ...{ isMade: true, isLost: false, answers: ["2001"] },
};

test("finds nothing in a call that has its result, and in one whose outcome is said to be unknown", () => {
  expect(judgeCall(settled)).toEqual([]);
  const told = "Whether the call was carried out is unknown; check before you make it again.";
  expect(judgeCall({ ...settled, told })).toEqual([]);
  expect(judgeCall({ ...settled, told, effects: 0 })).toEqual([]);
});

test.each<[string, Partial<JudgedCall>]>([
  ["carried out 2 times", { effects: 2 }],
  ["nobody was told", { told: undefined }],
  ["result of another call", { told: "All about c2-1-0 in 2001." }],
  ["never ends", { told: "This call is not done yet: connection lab works on it." }],
  ["was not carried out", { effects: 0 }],
  ["says that it was not", { told: "The call was not carried out." }],
  ["does not say that this is unknown", { told: "The application's store failed at put." }],
  ["nobody has declined", { effects: 0, told: "Nobody agreed to order." }],
  ["was taken was lost", { told: "All about c1-1-0." }],
  ["its result is lost", { told: "The outcome is unknown.", expects: "carried out" }],
  ["without its tool", { effects: 0, told: "call unavailable tool", expects: "tools" }],
])("goes red: %s", (words, wrong) => {
  expect(judgeCall({ ...settled, ...wrong }).join()).toContain(words);
});
