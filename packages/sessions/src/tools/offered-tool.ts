import type { WaitingAnswer } from "@durable-mcp/core/waiting/internal";
import type { CallToolResult, ServerTool } from "../base/mcp-client.ts";
import type { UsedConnection } from "../connection/used-connection.ts";
import type { LossNotice } from "../connection/loss-notice.ts";
import type { SignIn } from "../connection/waiting-parts.ts";
import type { Begun, BegunCall } from "./begin-call.ts";

/** What an agent says of a call of a tool. */
export interface ToolUse {
  readonly toolCallId?: string | undefined;
  readonly abortSignal?: AbortSignal | undefined;
  /** The messages that the model was asked with. */
  readonly messages?: readonly unknown[] | undefined;
}

type Park = NonNullable<SignIn["park"]>;

/**
 * A tool of a connection, as a model may get it. A framework's package dresses it as one of its own with `name`,
 * `listed`, `inputSchema`, `needsApproval` or `unapproved`, `call` and `noticeFor`. Of the others, those with types
 * that are not public are for the packages of this repository, and may change with every release.
 */
export interface OfferedTool {
  /** The name for the model. */
  readonly name: string;
  /** The JSON Schema of the input for the model. */
  readonly inputSchema: object;
  /** As its server lists it: its `description` is for the model. */
  readonly listed: ServerTool;
  /** The server's name of it. */
  readonly tool: string;
  readonly connection: string;
  /**
   * Whether a person has to approve a call; `undefined` if the application says nothing of it. For frameworks that ask
   * people themselves, before `call`.
   */
  readonly needsApproval:
    | boolean
    | ((input: unknown, use: ToolUse) => Promise<boolean>)
    | undefined;
  /**
   * For frameworks that cannot ask, before `call`.
   *
   * @returns the result of a call that a person would have to approve, or that `approval` denies; `undefined` if it may run
   */
  unapproved(input: unknown): Promise<CallToolResult | undefined>;
  /**
   * Calls it for a model. What `approval` denies is not sent, and the result says why; what a person has to approve
   * counts as approved.
   *
   * @param use `toolCallId`, where the framework has one: a call without it cannot wait for a sign-in, and one with
   *   another id is another call, which is sent
   * @returns the server's `CallToolResult`, also when the tool failed (`isError`), or a placeholder (`waitingCallOf`).
   *   What `toOutput` of the opener makes of it, if there is one: that of AI SDK gives the output of
   *   `schemas`. A text from a stand-in where no call can wait
   * @throws {McpSessionError} as `run.call`; `CONNECTION_INVALID` for a call that would wait in an agent that no result
   *   reaches. The client's own error for a JSON-RPC error of the server
   */
  call(input: unknown, use?: ToolUse): Promise<unknown>;
  /**
   * What the model is told beside a result, of the loss of a session. Not there without sessions. It consumes nothing:
   * the same result has the same notice as often as it is asked.
   *
   * @param toolCallId as `call` got it
   */
  readonly noticeFor: ((result: unknown, toolCallId: string) => string | undefined) | undefined;
  /** Whether a call may have a placeholder for its result: with `waiting: true`, or for the user's sign-in. */
  readonly mayWait: boolean;
  /** Whether it stands in for the tools of a connection whose user has to sign in. */
  readonly isStandIn: boolean;
  /** Whether the application allows that its calls run twice. */
  readonly mayRunTwice: boolean;
  /** Whether its calls can wait for the user's sign-in. */
  readonly mayPark: boolean;
  /** Begins a call whose agent looks after its waiting itself. The result is the server's own. */
  begin(call: BegunCall): Promise<Begun>;
  /** Has a call wait for the user's sign-in. @returns its placeholder; `undefined` if it cannot wait */
  park(call: Omit<Parameters<Park>[0], "tool" | "annotations" | "isStandIn">): ReturnType<Park>;
  /** Makes of a kept answer what `call` makes of it. Not there where the server would get the call. */
  readonly replay:
    | ((
        answer: WaitingAnswer,
        call: { readonly input: unknown; readonly toolCallId: string },
      ) => Promise<unknown>)
    | undefined;
  /** The notice of a lost session for the next result, if one is due: once, for results that `call` did not make. */
  takeNotice(): LossNotice | undefined;
  /** Calls `use` with the tool in the run of the time, which lasts until `use` is done. @throws if there is none */
  lend<T>(use: (tool: OfferedTool) => Promise<T>): Promise<T>;
  /** Its connection, while its run lasts. */
  readonly on: UsedConnection;
}

/** The member of a framework's tool with what it was dressed of. A copy of the tool has it too, under any name. */
const offeredKey = Symbol("durable-mcp.offeredTool");

export const asOffered = <TOOL extends object>(dressed: TOOL, tool: OfferedTool): TOOL =>
  Object.assign(dressed, { [offeredKey]: tool });

/** What a framework's tool was dressed of; `undefined` for one that is of no connection. */
export function offeredToolOf(tool: object | undefined): OfferedTool | undefined {
  return tool && (Reflect.get(tool, offeredKey) as OfferedTool | undefined);
}
