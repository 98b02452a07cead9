import type { Turn } from "../steps/turn.ts";

/** What the user wants, and what the scripted model makes of it. */
export const researchTurn: Turn = {
  prompt: "Where does tea come from? Ask the lab.",
  calls: [{ tool: "research", input: { topic: "Tea" } }],
  answer: (results) => results.at(-1) ?? "",
};

export const instructions =
  "Do what the user asks with the tools you have, then answer in one sentence.";

/** What a process of the demo tells its parent, as one line of JSON on its stdout. */
export interface TaskReport {
  pid: number;
  /** What happened. */
  what: string;
  /** How the call is afterwards; "" if there is none. */
  call: string;
  /** What the agent said. */
  text: string;
}

export function printReport(report: Omit<TaskReport, "pid">): void {
  console.log(JSON.stringify({ pid: process.pid, ...report }));
}
