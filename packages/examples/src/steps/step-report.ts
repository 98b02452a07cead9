import type { ToolCall } from "./turn.ts";

/** What a step tells its parent, as one line of JSON on its stdout. */
export interface StepReport {
  pid: number;
  /** The step went on in the MCP session of the steps before it. */
  resumed: boolean;
  /** The server had lost that session, and the step went on in a new one. */
  recovered: boolean;
  calls: ToolCall[];
  /** HTTP requests to the MCP server. */
  requests: number;
  text: string;
}

export function printReport(report: StepReport): void {
  console.log(JSON.stringify(report));
}
