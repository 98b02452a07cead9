import type { McpSessionErrorCode, Principal } from "@durable-mcp/core";

/*
 * What goes through the run's event log between workflow code and steps: plain values, as few as will do.
 * A later release must understand what an earlier one logged, so fields are added and never change.
 */

/** What the step of sessions is asked: to open connections, or to end their sessions. */
export interface SessionsRequest {
  readonly kind: "open" | "end";
  /** Names of connections. Their URLs and keys are the step's own. */
  readonly connections: readonly string[];
  readonly principal: Principal;
  /** The agent session, such as a chat, that the sessions are of. */
  readonly sessionId?: string | undefined;
  /** What earlier steps returned to be kept, by connection. */
  readonly slots: Readonly<Record<string, string>>;
  /** What becomes of the step when a server is down. */
  readonly onUnavailable: "omit" | "throw";
}

/** A tool as the agent is offered it. */
export interface OfferedTool {
  /** The name for the model: `<connection>__<tool>`. */
  readonly name: string;
  /** The server's name. */
  readonly tool: string;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  /** JSON Schema. */
  readonly inputSchema: Readonly<Record<string, unknown>>;
  /** Whether a call that was interrupted may be made again. */
  readonly mayRunTwice: boolean;
}

export interface OpenedConnection {
  /** The slot, sealed; `undefined` when there is nothing to keep, or a store has it. */
  readonly slot?: string | undefined;
  /** Whether a store has a session of it. */
  readonly hasSession?: boolean | undefined;
  /** Whether the session took the place of a lost one, and the model is still to be told. */
  readonly isReplacement: boolean;
  readonly tools: readonly OfferedTool[];
  /** What the server says about how to use it. */
  readonly instructions?: string | undefined;
}

/** By connection, in the order asked for; those that are down are left out. */
export type SessionsResult = Readonly<Record<string, OpenedConnection>>;

/** What the step of calls is asked: one tool call. */
export interface CallRequest {
  readonly connection: string;
  /** The server's name of the tool. */
  readonly tool: string;
  readonly input: unknown;
  readonly principal: Principal;
  readonly sessionId?: string | undefined;
  /** The connection's slot, as the step of sessions returned it. */
  readonly slot?: string | undefined;
  /** Whether the store had a session: should it be gone, the step is not to make one. */
  readonly hasSession?: boolean | undefined;
  readonly mayRunTwice: boolean;
  /** Whether this result tells the model that the session is not the one before. */
  readonly tellLoss: boolean;
}

/** A part of a tool result as both agents hand it to the model. */
export type ResultPart =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "image-data"; readonly data: string; readonly mediaType: string }
  | { readonly type: "file-data"; readonly data: string; readonly mediaType: string };

/** A tool result in the model's form. */
export type ToolResult =
  | { readonly type: "content"; readonly value: ResultPart[] }
  | { readonly type: "text"; readonly value: string }
  | { readonly type: "json"; readonly value: unknown };

/** How a call went. A failure is a value too: thrown, the engine would keep nothing but its text. */
export type CallResult =
  | { readonly ok: true; readonly output: ToolResult }
  | {
      readonly ok: false;
      /** `undefined` for an error that is not ours, such as a refusal of the server's. */
      readonly code?: McpSessionErrorCode | undefined;
      readonly message: string;
      /** Whether the session is gone, so that another has to be opened. */
      readonly isLost: boolean;
      /** Whether the call may be made again on that one. */
      readonly maySendAgain: boolean;
      /** The slot without its session. */
      readonly slot?: string | undefined;
    };

/** The steps of an application: declared there, so that their ids are not this package's. */
export interface ConnectionStepFunctions {
  readonly sessions: (request: SessionsRequest) => Promise<SessionsResult>;
  readonly call: (request: CallRequest) => Promise<CallResult>;
}
