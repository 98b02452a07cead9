import type { OfferedTool } from "../tools/offered-tool.ts";
import type { Resumption } from "../waiting/resumption.ts";
import type { RunWaiting } from "../waiting/run-waiting.ts";
import type { ConnectionRun } from "./connection-run.ts";
import type { RunScope } from "./run-scope.ts";

/** Tools as a framework has them, by their names for the model. */
export type ToolsByName = Record<string, any>;

/** What a framework's package makes of a run: tools in its form, and its messages with the results of calls. */
export interface ToolFace {
  /** Makes a tool of the framework; `undefined` leaves it out. */
  dress(tool: OfferedTool): object | Promise<object> | undefined;
  /** `resume` of a run's waiting calls. */
  resume(
    of: Resumption,
    scope: RunScope,
    messages: readonly unknown[],
    options: ResumeOptions,
  ): Promise<object>;
}

interface ResumeOptions {
  readonly tools: object;
}

/** A run with what its face has made. */
export interface FacedRun extends ConnectionRun<any> {
  tools(options?: ToolsOptions): Promise<ToolsByName>;
  readonly waiting: RunWaiting & {
    resume(messages: readonly unknown[], options: ResumeOptions): Promise<object>;
  };
}

/** Options of `tools` of a run. */
export interface ToolsOptions {
  readonly connections?: readonly string[] | undefined;
  readonly onUnavailable?: "omit" | "throw" | undefined;
}
