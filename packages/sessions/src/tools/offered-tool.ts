import type { WaitingAnswer } from "@durable-mcp/core/waiting/internal";
import type { CallToolResult, ServerTool } from "../base/mcp-client.ts";
import type { LiveConnection } from "../connection/live-connection.ts";
import type { LossNotice } from "../connection/loss-notice.ts";
import type { SignIn } from "../connection/waiting-parts.ts";
import type { ClientTools } from "../events/client-errors.ts";
import type { Begun, BegunCall } from "./begin-call.ts";

/** What an agent says of a call of a tool. */
export interface ToolUse {
  readonly toolCallId?: string | undefined;
  readonly abortSignal?: AbortSignal | undefined;
  /** The messages that the model was asked with. */
  readonly messages?: readonly unknown[] | undefined;
}

/** A tool as a client's package makes it of a server's. */
export type ClientTool = ClientTools[string];

type Park = NonNullable<SignIn["park"]>;

/** A tool of a connection, as a model may get it. A framework's package dresses it as one of its own. */
export interface OfferedTool {
  /** The name for the model. */
  readonly name: string;
  readonly connection: string;
  /** The server's name of it. */
  readonly tool: string;
  /** As its server lists it. */
  readonly listed: ServerTool;
  /** As its client makes it, if that makes tools of its package; `undefined` for one that the client does not take. */
  readonly own: ClientTool | undefined;
  /** The JSON Schema of the input for the model. */
  readonly inputSchema: object;
  /** Whether it stands in for the tools of a connection whose user has to sign in. */
  readonly isStandIn: boolean;
  /** Whether a call may have a placeholder for its result: with `waiting: true`, or for the user's sign-in. */
  readonly mayWait: boolean;
  /** Whether its calls can wait for the user's sign-in. */
  readonly mayPark: boolean;
  /** Whether the application allows that its calls run twice. */
  readonly mayRunTwice: boolean;
  /** Whether a person has to approve a call; `undefined` if the application says nothing of it. */
  readonly needsApproval:
    | boolean
    | ((input: unknown, use: ToolUse) => Promise<boolean>)
    | undefined;
  /** Calls it for a model. @returns what the client's own tool returns, or a placeholder */
  call(input: unknown, use?: ToolUse): Promise<unknown>;
  /** Begins a call whose agent looks after its waiting itself. The result is the server's own. */
  begin(call: BegunCall): Promise<Begun>;
  /** The result of a call that may not run where nobody can be asked; `undefined` if it may. */
  unapproved(input: unknown): Promise<CallToolResult | undefined>;
  /** Has a call wait for the user's sign-in. @returns its placeholder; `undefined` if it cannot wait */
  park(call: Omit<Parameters<Park>[0], "tool" | "annotations" | "isStandIn">): ReturnType<Park>;
  /** Makes of a kept answer what the client's own tool makes of it. Not there where the server would get the call. */
  readonly replay:
    | ((
        answer: WaitingAnswer,
        call: { readonly input: unknown; readonly toolCallId: string },
      ) => Promise<unknown>)
    | undefined;
  /** What the model is told beside a result, of the loss of a session. Not there without sessions. */
  readonly noticeFor: ((result: unknown, toolCallId: string) => string | undefined) | undefined;
  /** The notice of a lost session for the next result, if one is due. */
  takeNotice(): LossNotice | undefined;
  /** Calls `use` with the tool in the run of the time, which lasts until `use` is done. @throws if there is none */
  lend<T>(use: (tool: OfferedTool) => Promise<T>): Promise<T>;
  /** Its connection, while its run lasts. */
  readonly on: LiveConnection;
}

/** The member of a framework's tool with what it was dressed of. A copy of the tool has it too, under any name. */
const offeredKey = Symbol("durable-mcp.offeredTool");

export const asOffered = <TOOL extends object>(dressed: TOOL, tool: OfferedTool): TOOL =>
  Object.assign(dressed, { [offeredKey]: tool });

/** What a framework's tool was dressed of; `undefined` for one that is of no connection. */
export function offeredToolOf(tool: object | undefined): OfferedTool | undefined {
  return tool && (Reflect.get(tool, offeredKey) as OfferedTool | undefined);
}
