import { isDeepStrictEqual } from "node:util";
import type { Matcher } from "vitest";
import {
  compareSent,
  countDone,
  explain,
  type SentCounts,
  type WithLedger,
  type WithRequests,
} from "./expect-sent.ts";

/** The matchers, as `expect` knows them. */
export interface DurableMcpMatchers<RESULT = unknown> {
  /** So much was sent by a step, or to a faulty server. */
  toHaveSent(expected: SentCounts): RESULT;
  /** Exactly this was done at a faulty server: how often, by tool. */
  toHaveDone(expected: Readonly<Record<string, number>>): RESULT;
}

/**
 * Matchers for Vitest and Jest: `expect.extend(matchers)`.
 *
 * @example
 * expect(await runStep(step)).toHaveSent({ calls: 1, requests: 1 });
 * expect(server).toHaveDone({ order: 1 });
 */
export const matchers: Readonly<Record<keyof DurableMcpMatchers, Matcher>> = {
  toHaveSent(received: WithRequests, expected: SentCounts) {
    const { actual, log } = compareSent(received, expected);
    return judge(actual, expected, `: ${log.join(", ")}`);
  },
  toHaveDone: (received: WithLedger, expected: Readonly<Record<string, number>>) =>
    judge(countDone(received), expected),
};

function judge(actual: object, expected: object, more = "") {
  return {
    pass: isDeepStrictEqual(actual, { ...expected }),
    message: () => explain(actual, expected) + more,
    actual,
    expected,
  };
}

declare module "vitest" {
  // The type parameters are Vitest's.
  interface Matchers<
    R extends void | Promise<void> = void | Promise<void>,
    T = unknown,
  > extends DurableMcpMatchers<R> {}
}
