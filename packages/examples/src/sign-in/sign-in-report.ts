import { describeCall } from "../steps/describe-call.ts";

/** What a step tells its parent, as one line of JSON on its stdout. */
export interface SignInReport {
  pid: number;
  /** `order(tea)` */
  calls: string[];
  /** Whether a call waits for the user's sign-in at the end. */
  isWaiting: boolean;
  /** What the agent said, or why it could not. */
  text: string;
}

interface StepEnd {
  calls: readonly { toolName: string; input: unknown }[];
  isWaiting?: boolean;
  text: string;
}

export function printSignInReport({ calls, isWaiting = false, text }: StepEnd): void {
  const report: SignInReport = {
    pid: process.pid,
    calls: calls.map(({ toolName, input }) => describeCall(toolName, input)),
    isWaiting,
    text,
  };
  console.log(JSON.stringify(report));
}

/** In a line. */
export function describeStep({ calls, isWaiting, text }: SignInReport): string {
  const did = calls.join(", ");
  if (isWaiting) return `${did} waits for the user's sign-in`;
  return did === "" ? text : `${did}: “${text}”`;
}
