import {
  checkFunction,
  checkText,
  flag,
  invalidOption,
  mustBe,
  type OptionCheck,
  type OptionChecks,
  oneOf,
  wholeFrom,
} from "../../base/check-option.ts";
import type { Principal } from "../../session/principal.ts";
import type { WaitingCall } from "./waiting-call.ts";

/**
 * What a call waits for beyond its step.
 *
 * - `person`: the answers to a question of the server, of revision 2026-07-28 or on a stream that can be resumed.
 * - `task`: a task that the server makes of it.
 * - `stream`: an answer on a stream that another process can resume. A server of revision 2026-07-28 has none.
 */
export type WaitsFor = "person" | "task" | "stream";

/** How calls wait. */
export interface WaitingLimits {
  /** How long a call, and each round of its questions, may wait, in milliseconds. @default 604800000 (7 days) */
  readonly maxAgeMs?: number | undefined;
  /** How often a server may ask for one call. @default 10 */
  readonly maxRounds?: number | undefined;
  /**
   * What happens to questions that have expired, here or for the server (`invalid_request_state`). `"fail"`: the
   * call ends as `expired`. `"ask-again"`: the next answer makes the call start over, and the server asks anew.
   * An old answer is never used again. @default "fail"
   */
  readonly onExpired?: "fail" | "ask-again" | undefined;
  /**
   * Tools, by the server's names, that may run twice: after an answer whose outcome is unknown, the questions
   * wait again. @default none
   */
  readonly safeTools?: readonly string[] | undefined;
  /** What calls may wait for beyond their step. @default ["person", "task", "stream"] */
  readonly for?: readonly WaitsFor[] | undefined;
  /**
   * How long a step waits for a task or a slow answer, in milliseconds: at most nine tenths of the call's time limit,
   * and not beyond the step's own end. @default 20000
   */
  readonly afterMs?: number | undefined;
  /**
   * When a call gets its record. `"late"`: when it begins to wait, so that a fast call costs no write; if the process
   * is killed before, nothing is left of the call. `"first"`: before it is sent, so that a step that is killed and run
   * again finds it, by its tool call id, tool, arguments and place in the history. @default "late"
   */
  readonly record?: "late" | "first" | undefined;
  /**
   * Whether a step may watch the connection's resources (`run.watch`). Each step then looks for news in the store: one
   * list. @default false
   */
  readonly watch?: boolean | undefined;
  /** Gets each call that has waited and is over, to start the next step. Time and errors are as of `onWaiting`. */
  readonly onSettled?:
    | ((
        call: WaitingCall,
        of: { readonly sessionId: string; readonly principal: Principal },
      ) => void | Promise<void>)
    | undefined;
  /**
   * Gets each call whose server asks something, for a mail or a push message. The call waits for it, for 10 seconds or
   * the `closeTimeoutMs` of a run. Its errors become a warning on the console.
   */
  readonly onWaiting?: ((call: WaitingCall) => void | Promise<void>) | undefined;
}

const listOf =
  /* @__NO_SIDE_EFFECTS__ */
  (check: OptionCheck, what: string, min = 0): OptionCheck =>
    (value, field) => {
      if (!Array.isArray(value) || value.length < min)
        throw invalidOption(field, `must be ${what}`);
      for (const [index, each] of value.entries()) check(each, `${field}[${index}]`);
    };
const waitsFor = 'a list of "person", "task" and "stream"';
const isWaitsFor = (value: unknown) => ["person", "task", "stream"].includes(value as string);

export const waitingLimitChecks: OptionChecks<WaitingLimits> = {
  maxAgeMs: wholeFrom(1),
  maxRounds: wholeFrom(1),
  onExpired: oneOf("fail", "ask-again"),
  safeTools: listOf(checkText, "a list of names"),
  for: listOf(mustBe(waitsFor, isWaitsFor), waitsFor, 1),
  afterMs: wholeFrom(0),
  record: oneOf("late", "first"),
  watch: flag,
  onWaiting: checkFunction,
  onSettled: checkFunction,
};
