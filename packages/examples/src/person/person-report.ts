import type { WaitingCall } from "@durable-mcp/core/waiting";

/** What a process of the demo tells its parent, as one line of JSON on its stdout. */
export interface PersonReport {
  pid: number;
  lines: PersonLine[];
  /** Whether a call waits for a person at the end. */
  waiting: boolean;
  /** The round of the last question; 0 if there was none. */
  round: number;
  /** What the agent said. */
  text: string;
}

/** A line of the table. */
export interface PersonLine {
  what: string;
  /** How the call is after it. */
  call?: string;
}

export function printPersonReport(report: Omit<PersonReport, "pid">): void {
  console.log(JSON.stringify({ pid: process.pid, ...report }));
}

/** What happened to a call, and what is asked now. */
export function describeWaiting(what: string, { state, round, requests }: WaitingCall) {
  if (state !== "waiting") return [{ what, call: state }];
  const questions = Object.values(requests).map(({ params }) => String(params?.["message"]));
  return [{ what, call: `waits, round ${round}` }, ...questions.map(describeQuestion)];
}

export function describeQuestion(message: string): PersonLine {
  return { what: `The shop asks: ${message}` };
}
