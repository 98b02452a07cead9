import { expect } from "vitest";
import { describeFailure, runSchedules } from "./run-schedules.ts";

/** What each share of the schedules has to go through, or it would prove little. */
const exercised = [
  "definite-loss",
  "probable-loss",
  "session adopted",
  "doubt: session given up",
  "doubt: session kept",
  "loss reported late, of a session replaced since",
  "initialize after a loss",
  "lost the race at the save point",
  "call sent again",
  "first request sent again",
  "tool run again, as allowed",
  "stream resumed",
  "question answered",
  "cancellation",
  "call aborted",
  "request to another URL",
  "disturbance: restart",
  "disturbance: forget",
  "disturbance: end",
  "event: resumed",
  "event: recovered",
  "event: discarded",
  "told OUTCOME_UNKNOWN",
  "told SESSION_LOST",
  "told CONNECTION_UNAVAILABLE",
  "told redirect",
  ...[
    "network",
    "outage",
    "cut",
    "unauthorized",
    "redirect",
    "forget",
    "probableAfterwards",
    "notFound",
  ].map(fault),
  ...["breakStream", "truncate", "duplicate", "stray", "misroute", "slowHandshake", "store"].map(
    fault,
  ),
];

function fault(name: string): string {
  return `fault: ${name}`;
}

/** The same of calls that wait. */
const exercisedWaiting = [
  ...["first leg", "leg taken", "tool run", "placeholder", "process died"],
  ...["state expired", "store conflict", "claim given up", "told settled", "told waiting"],
  ...["told expired", "told outcome-unknown", "told withdrawn", "told NOT_WAITING"],
  ...["told STORE_FAILED", "told CONNECTION_UNAVAILABLE"],
  ...["call with a stream", "stream looked at", "stream resumed in its step"],
  ...["question on a stream answered", "question given up", "sessions forgotten"],
  ...["session unknown", "client leaves", "answer in step", "client told OUTCOME_UNKNOWN"],
].map((name) => `waiting: ${name}`);
const waitingFaults = ["refusedLeg", "brokenLeg", "brokenStream", "failedStore", "failedWrite"].map(
  (name) => `waiting fault: ${name}`,
);

/** Runs the schedules and expects every invariant to hold, and everything above to happen. */
export async function expectInvariantsToHold(seed: number, schedules: number): Promise<void> {
  const { failure, counts } = await runSchedules(seed, schedules);
  console.log(`seed ${seed}, ${schedules} schedules, ${counts["tool run"]} tool runs`);
  expect(failure && (await describeFailure(failure))).toBeUndefined();
  const all = [...exercised, ...exercisedWaiting, ...waitingFaults];
  expect(all.filter((name) => (counts[name] ?? 0) < 20)).toEqual([]);
}
