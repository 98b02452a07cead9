import { describeCall } from "./describe-call.ts";
import type { StepResult } from "./step-runner.ts";
import type { ToolCall } from "./turn.ts";

/** Where a demo shows its steps, as they come. */
export interface StepOutput {
  title: (text: string) => void;
  /** `extra` are more figures for programs. */
  step: (result: StepResult, extra?: object) => void;
  /** What happens between two steps. */
  between: (text: string) => void;
  closing: (text: string) => void;
}

/** For programs: one JSON object a step on stdout, nothing else. */
export const jsonOutput: StepOutput = {
  title: () => {},
  step: ({ step, pid, session, resumed, recovered, calls, requests, text }, extra) => {
    const line = { step, pid, session, resumed, recovered, calls: calls.length, requests, text };
    console.log(JSON.stringify({ ...line, ...extra }));
  },
  between: () => {},
  closing: () => {},
};

const actionWidth = 54;

/** For people: a table, less than 100 columns wide. */
export const tableOutput: StepOutput = {
  title: (text) => {
    console.log(`\n${text}\n`);
    printRow("step", "process", "what the agent did, and said", "MCP session", "HTTP requests");
    printRow("────", "───────", "─".repeat(actionWidth), "───────────", "─────────────");
  },
  step: ({ step, pid, calls, text, session, resumed, requests }) => {
    const kept = `${session} (${resumed ? "kept" : "new"})`;
    printRow(step, pid, describeCalls(calls), kept, `${requests} for ${plural(calls.length)}`);
    printRow("", "", `“${text}”`);
  },
  between: (text) => console.log(`\n      ✂ ${text}\n`),
  closing: (text) => console.log(`\n${text}\n`),
};

function printRow(
  step: string | number,
  pid: string | number,
  action: string,
  session = "",
  requests = "",
): void {
  const cells = [
    String(step).padStart(4),
    String(pid).padStart(7),
    shorten(action, actionWidth).padEnd(actionWidth),
    session.padEnd(11),
    requests,
  ];
  console.log(cells.join("  ").trimEnd());
}

/** `add_item(apples), add_item(bread)` */
function describeCalls(calls: ToolCall[]): string {
  return calls.map(({ tool, input }) => describeCall(tool, input)).join(", ");
}

function shorten(text: string, width: number): string {
  const line = text.replaceAll(/\s+/g, " ");
  return line.length <= width ? line : `${line.slice(0, width - 1)}…`;
}

function plural(calls: number): string {
  return calls === 1 ? "1 call" : `${calls} calls`;
}
