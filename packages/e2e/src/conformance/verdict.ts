import type { ExpectedFailure } from "./expected-failures.ts";
import type { ScenarioResult } from "./run-scenario.ts";

/** What a result means, given what is known not to pass. Only the first two are good. */
export interface Verdict {
  readonly kind: "passed" | "expected" | "failed";
  /** Checks that failed and were not expected to. */
  readonly unexpected: readonly string[];
  /** Checks that were expected to fail and did not. */
  readonly stale: readonly string[];
}

/**
 * Judges a result. Unlike the suite's own `--expected-failures` it counts how the client ended, and a check that is
 * expected to fail and is not made at all is stale too.
 */
export function judge(result: ScenarioResult, expected: ExpectedFailure | undefined): Verdict {
  const known = new Set(expected?.checks);
  const failed = new Set(result.failed);
  const unexpected = [...failed].filter((check) => !known.has(check));
  const stale = [...known].filter((check) => !failed.has(check));
  const isGood = unexpected.length === 0 && stale.length === 0;
  if (!isGood) return { kind: "failed", unexpected, stale };
  return { kind: known.size > 0 ? "expected" : "passed", unexpected, stale };
}
