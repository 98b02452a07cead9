import { AssertionError } from "node:assert";
import type { Matcher } from "vitest";
import { expectDone, expectSent } from "./expect-sent.ts";

/**
 * Matchers for Vitest and Jest: `expect.extend(matchers)`.
 *
 * @example
 * expect(await runStep(step)).toHaveSent({ calls: 1, requests: 1 });
 * expect(server).toHaveDone({ order: 1 });
 */
export const matchers: Readonly<Record<"toHaveSent" | "toHaveDone", Matcher>> = {
  toHaveSent: matcherOf(expectSent),
  toHaveDone: matcherOf(expectDone),
};

function matcherOf<SUBJECT, EXPECTED>(check: (subject: SUBJECT, expected: EXPECTED) => void) {
  return (subject: SUBJECT, expected: EXPECTED) => {
    try {
      check(subject, expected);
    } catch (error) {
      if (!(error instanceof AssertionError)) throw error;
      const { message, actual } = error;
      return { pass: false, message: () => message, actual, expected };
    }
    return { pass: true, message: () => `expected anything but ${JSON.stringify(expected)}` };
  };
}

declare module "vitest" {
  // The type parameters are Vitest's.
  interface Matchers<R extends void | Promise<void> = void | Promise<void>, T = unknown> {
    /** A step, or the clients of a faulty server, sent this much. */
    toHaveSent(expected: Parameters<typeof expectSent>[1]): R;
    /** Exactly this was done at a faulty server: how often, by tool. */
    toHaveDone(expected: Parameters<typeof expectDone>[1]): R;
  }
}
