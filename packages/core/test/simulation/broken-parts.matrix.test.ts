import { describe, expect, test } from "vitest";
import * as broken from "./broken-parts.ts";
import * as brokenStreams from "./broken-stream-parts.ts";
import * as brokenWaiting from "./broken-waiting-parts.ts";
import { type Invariant, invariants, type Violation } from "./invariant-model.ts";
import type { Parts } from "./parts.ts";
import { createPlan } from "./plan.ts";
import { describeFailure, runSchedules } from "./run-schedules.ts";

/** Each invariant, parts of core without which it does not hold, and what breaks then. */
const needed: readonly [Invariant, string, () => Promise<Parts>, RegExp?][] = [
  ["own-session", "with a key that joins its parts", broken.withNaiveKey],
  ["own-session", "with redirects followed", broken.withRedirectsFollowed],
  ["own-answer", "without the rewrite of ids", broken.withoutIdRewrite, /took the answer to p/],
  ["one-initialize", "without a shared handshake", broken.withoutSharedHandshake],
  ["one-initialize", "without compare-and-clear", broken.withoutCompareAndClear],
  ["one-initialize", "with insistent beginnings", broken.withInsistentBeginnings, / 3 times/],
  ["one-initialize", "with hasty doubts", broken.withHastyDoubts, /although it has a session/],
  ["one-run", "with an eager re-send", broken.withEagerResend, /ran 2 times/],
  ["one-run", "with a careless classifier", broken.withCarelessClassifier],
  ["slot-kept", "without compare-and-clear", broken.withoutCompareAndClear],
  ["slot-kept", "without the winner of the save point", broken.withoutWinner],
  ["one-outcome", "with failures that hang", broken.withHangingFailures],
  ["one-outcome", "without the rewrite of ids", broken.withoutIdRewrite],
  ["id-secret", "without scrubbing", broken.withoutScrubbing],
  ["honest-failure", "with a careless classifier", broken.withCarelessClassifier],
  ["own-version", "with a fixed version", broken.withFixedVersion],
  ["own-cancellation", "with one fetch for all", broken.withOneFetchForAll],
  ["question-kept", "with answers before the record is there", brokenWaiting.withHastyAnswers],
  ["one-leg", "without a claim", brokenWaiting.withoutClaim],
  ["one-leg", "with a claim without compare-and-set", brokenWaiting.withoutCompareAndSet],
  ["one-leg", "with optimism about dead processes", brokenWaiting.withOptimism],
  ["same-call", "with the state of the round before", brokenWaiting.withOldState],
  ["same-call", "with a key without the principal", brokenWaiting.withoutPrincipal],
  ["one-leg", "with answers sent again", brokenStreams.withInsistentAnswers, /a second time/],
  ["one-leg", "with records written late", brokenStreams.withLateRecords, /stream-. run again/],
  ["look-due", "with looks at any time", brokenWaiting.withEagerLooks],
  ["look-due", "with looks at streams at any time", brokenWaiting.withEagerLooks, /the stream of/],
  ["look-claimed", "without a claim", brokenWaiting.withoutClaim],
  ["claim-kept", "with claims that last no time", brokenWaiting.withoutLease],
  ["answer-kept", "with ends that are told before they are written", brokenWaiting.withHastyEnds],
  ["own-result", "with results that lose their content", brokenWaiting.withLostContents],
  ["settleable", "with claims that last for ever", brokenWaiting.withEndlessClaims],
  ["settleable", "with streams from nowhere", brokenStreams.withoutLastEventId, /server had it/],
  [
    "settleable",
    "with the goodbyes of clients",
    brokenStreams.withGoodbyes,
    /waits, and .* stopped stream/,
  ],
  ["state-secret", "with the whole record told", brokenWaiting.withTheWholeRecord],
];

/** Where to begin: these are rare, and the schedules before them take long. */
const firstSeeds: Readonly<Record<string, number>> = {
  "with one fetch for all": 3_090,
  "with a claim without compare-and-set": 680,
  "with optimism about dead processes": 225,
  "with a key without the principal": 225,
  "with answers sent again": 330,
  "with ends that are told before they are written": 225,
};

const operations = (plan: string) => plan.match(/"kind":"/g)!.length;

test("every invariant is shown to break", () => {
  const shown = new Set(needed.map(([invariant]) => invariant));
  expect(shown).toEqual(new Set(Object.keys(invariants)));
});

describe.each(needed)("%s", (invariant, part, breakPart, message = /./) => {
  test(`breaks ${part}`, { timeout: 240_000 }, async () => {
    const parts = await breakPart();
    const fails = (violation: Violation) =>
      violation.invariant === invariant && message.test(violation.message);
    const { failure, schedules } = await runSchedules(firstSeeds[part] ?? 1, 2_000, {
      ...{ parts, fails, invariant },
    });
    expect(failure).toBeDefined();
    console.log(
      `${invariant} broke ${part} in schedule ${schedules}: ${failure?.violation.message}`,
    );
    // It is the part that breaks it: core as it is gets through the same schedule.
    const { failure: ownFailure } = await runSchedules(failure!.seed, 1, { invariant });
    expect(ownFailure).toBeUndefined();
  });
});

test("describes a failure by the smallest plan that has it", { timeout: 240_000 }, async () => {
  const parts = await broken.withoutIdRewrite();
  const { failure } = await runSchedules(20, 3_000, {
    parts,
    fails: ({ invariant }) => invariant === "own-answer",
  });
  const text = await describeFailure(failure!, parts);
  expect(text).toContain(`seed ${failure!.seed} breaks "own-answer"`);
  expect(text).toContain(`npm run lab -- simulate --schedules 1 --seed ${failure!.seed}`);
  // It takes callers to mix up their answers, and neither faults nor all of the operations.
  expect(operations(text)).toBeLessThan(operations(JSON.stringify(createPlan(failure!.seed))));
  expect(text).toContain("faults: none");
});
