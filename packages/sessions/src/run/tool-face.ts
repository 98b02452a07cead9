import type { LiveConnection } from "../connection/live-connection.ts";
import type { ToolsByName } from "../tools/same-names.ts";
import type { ResumeParts } from "../waiting/create-run-waiting.ts";
import type { RunWaiting } from "../waiting/run-waiting.ts";
import type { ConnectionRun } from "./connection-run.ts";
import type { RunScope } from "./run-scope.ts";

/** What a framework's package makes of a run: tools in its form, and its messages with the results of calls. */
export interface ToolFace {
  /** The tools of a connection, under their names for the model. */
  list(connection: LiveConnection): Promise<ToolsByName>;
  /** The one tool of a connection whose user has to sign in before its server lists the others. */
  standIn(connection: LiveConnection, startUrl: string | undefined): Promise<ToolsByName>;
  /** A listed tool whose calls go to the same tool of the run of the time. */
  borrow<TOOL extends object>(listed: TOOL, lend: LendTool<TOOL>): TOOL;
  /** `resume` of a run's waiting calls. */
  resume(
    of: ResumeParts,
    scope: RunScope,
    messages: readonly unknown[],
    options: ResumeOptions,
  ): Promise<object>;
}

/** Calls `use` with what finds a tool in the run of the time. */
export type LendTool<TOOL> = <T>(use: (find: () => Promise<TOOL>) => Promise<T>) => Promise<T>;

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
