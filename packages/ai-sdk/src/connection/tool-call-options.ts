import type { ToolProgress } from "./call-progress.ts";
import type { Awaitable, ConnectionContext } from "./connection-context.ts";

/** A call of a connection's tool. */
export interface ToolCallContext extends ConnectionContext {
  /** The server's name of the tool. */
  readonly tool: string;
}

/** A call that may need an approval. */
export interface ToolApprovalCall extends ToolCallContext {
  /** The tool's name for the model, `<connection>__<tool>`. */
  readonly toolName: string;
  /** The model's input; `undefined` if it is no object. */
  readonly toolInput: Readonly<Record<string, unknown>> | undefined;
  /** The tool's `annotations`, as the server declares them. Only trust a server that you know. */
  readonly toolAnnotations: Readonly<Record<string, unknown>> | undefined;
  /** AI SDK's `toolCallId`. */
  readonly callId: string;
  /** The messages before the call, of AI SDK. A chat's client may have made them up. */
  readonly messages: readonly unknown[];
}

/**
 * What becomes of a call. `"user-approval"`, or `true`: a person has to approve it. `"denied"`: its result says
 * that the application denied it, with the reason. Otherwise it runs.
 */
export type ToolApprovalStatus =
  | undefined
  | boolean
  | "not-applicable"
  | "approved"
  | "denied"
  | "user-approval"
  | {
      readonly type: "not-applicable" | "approved" | "denied" | "user-approval";
      /** For the model, of a denied call. */
      readonly reason?: string | undefined;
    };

/** What a connection does around the calls of its tools. */
export interface ToolCallOptions {
  /**
   * Whether calls need a person's approval, for AI SDK 6 and 7. It becomes `needsApproval` of the tools, and
   * `toolApproval` of a call of AI SDK 7 comes before it. A function may be called several times for one
   * call, also after the approval. @default no call does
   */
  readonly approval?:
    | boolean
    | ((call: ToolApprovalCall) => Awaitable<ToolApprovalStatus>)
    | undefined;
  /**
   * Gets the progress of tool calls, at most every 100 ms for each; its errors are dropped. Without it,
   * servers are not asked for progress.
   */
  readonly onProgress?:
    | ((
        progress: ToolProgress,
        call: ToolCallContext & { readonly toolCallId?: string | undefined },
      ) => void)
    | undefined;
}
