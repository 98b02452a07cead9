import type { WaitingCall } from "@durable-mcp/core/waiting";
import type { ToolSet } from "ai";
import type { NewsEntry, RunWaiting as WaitingOfAnyRun } from "@durable-mcp/sessions";
import type { WhileWaiting } from "./stop-when-waiting.ts";

/** The calls of an agent session that wait, for one principal. */
export interface RunWaiting extends WaitingOfAnyRun {
  /**
   * Puts the results of calls that are over in the places of their placeholders, in model messages or UI
   * messages. A call that has waited for a sign-in is carried out when the user has signed in, at most once. Its server
   * is asked for one that it keeps, as a task or a stream, if it is due. Otherwise it sends nothing but, on first use of
   * a connection, its handshake.
   *
   * A place whose call is not kept any more gets an error, and so does one that names another tool or other arguments
   * than the call: messages come from browsers. A tool in which an agent runs is executed again when the agent's call
   * has its result.
   *
   * @param messages with placeholders of 1,000 calls at most
   * @param options.tools all tools of the step. They make of the server's answer what `execute` would have made.
   *   Without its tool, such as that of a connection that is down, a call has the content of the server's answer
   * @param options.whileWaiting what happens when the user writes while a call waits. `"reply"`, the default: the model
   *   answers, with the placeholder in its messages. `"hold"`: it is not called. `"withdraw"`: the call is taken back first
   * @throws {McpSessionError} `CONNECTION_INVALID` for what is no list, and for more calls; `STORE_FAILED`; the error of
   *   `approval`
   */
  resume<MESSAGE, TOOLS extends ToolSet = ToolSet>(
    messages: readonly MESSAGE[],
    options: { readonly tools: TOOLS; readonly whileWaiting?: WhileWaiting | undefined },
  ): Promise<ResumedMessages<MESSAGE, TOOLS>>;
}

export interface UserMessage {
  readonly role: "user";
  readonly content: string;
}

/** Messages with the results of calls that have waited. */
export interface ResumedMessages<MESSAGE, TOOLS extends ToolSet = ToolSet> {
  /**
   * The same tools, for the agent of the step. The application's own find the run, and none of them loses a call that
   * waits in an agent below it.
   */
  readonly tools: TOOLS;
  /** Copies of those that changed, and the others as they were. */
  readonly messages: MESSAGE[];
  /**
   * Whether the model has something to do. Otherwise do not call it: it would comment on a placeholder, or make the
   * call again.
   */
  readonly goesOn: boolean;
  /** What watches have found (`watch` of the run). Model messages end with a user message that has it. */
  readonly news: readonly NewsEntry[];
  /**
   * Tells the model of results, if it has spoken since it made the calls, and of news. Model messages end with it already; add it to
   * the messages that you make of UI messages.
   */
  readonly landing: readonly UserMessage[];
  /** The calls whose placeholders are still there. */
  readonly stillWaiting: readonly WaitingCall[];
  /** The calls that have a result, or the reason why there is none, in the messages now. */
  readonly resumed: readonly WaitingCall[];
}
