import type { Connections } from "../declare/mcp-connection.ts";
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
  /**
   * `resume` of a run's waiting calls. It may name its own types for `messages` and `options`, as no other caller has
   * others.
   *
   * @param of puts results into places: `of.resume`
   * @param scope for the packages of this repository
   * @returns what `run.waiting.resume` gives
   */
  resume(
    of: Resumption,
    scope: RunScope,
    messages: readonly unknown[],
    options: ResumeOptions,
  ): Promise<object>;
}

/** Options of `resume`. A framework's package may have more. */
export interface ResumeOptions<TOOLS extends object = object> {
  /** All tools of the step, by their names for the model: those of `tools()`, and the application's own. */
  readonly tools: TOOLS;
}

/**
 * A run with what its face has made. Without a face it has neither `tools` nor `waiting.resume`: a framework's package
 * names the types of its own, and gives this as the second type argument of `createDurableSessions`.
 */
export interface FacedRun<
  CONNECTIONS extends Connections = any,
  TOOLS extends object = ToolsByName,
  MESSAGE = unknown,
  RESUMED extends object = object,
> extends ConnectionRun<CONNECTIONS> {
  /** The tools of the connections, as `dress` makes them, by their names for the model. */
  tools(options?: ToolsOptions): Promise<TOOLS>;
  readonly waiting: RunWaiting & {
    /** Puts the results of calls that are over into their places in the messages. */
    resume(messages: readonly MESSAGE[], options: ResumeOptions<TOOLS>): Promise<RESUMED>;
  };
}

/** Options of `tools` of a run. */
export interface ToolsOptions {
  readonly connections?: readonly string[] | undefined;
  readonly onUnavailable?: "omit" | "throw" | undefined;
}
