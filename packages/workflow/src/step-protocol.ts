import type { McpSessionErrorCode, Principal } from "@durable-mcp/core";

/*
 * The values that workflow code and steps exchange through the run's event log: plain, and as few as
 * possible. A later release must understand an earlier release's log, so fields are added and never change.
 */

/** The request to the step of sessions: to open connections, or to end their sessions. */
export interface SessionsRequest {
  readonly kind: "open" | "end";
  /** Names of connections. The step has their URLs and keys. */
  readonly connections: readonly string[];
  readonly principal: Principal;
  /** The agent session, such as a chat, that owns the sessions. */
  readonly sessionId?: string | undefined;
  /** The slots that earlier steps returned, by connection. */
  readonly slots: Readonly<Record<string, string>>;
  /** Whether the step goes on or fails if a server is down. */
  readonly onUnavailable: "omit" | "throw";
}

/** A tool in the form that the agent gets. */
export interface OfferedTool {
  /** The name for the model: `<connection>__<tool>`, or by the connection's `toolNames`. */
  readonly name: string;
  /** The server's name of the tool. */
  readonly tool: string;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  /** JSON Schema. */
  readonly inputSchema: Readonly<Record<string, unknown>>;
  /** Whether an interrupted call may be made again. */
  readonly mayRunTwice: boolean;
  /** Whether it stands in for the connection's tools until the user has signed in. @default false */
  readonly isStandIn?: boolean | undefined;
}

export interface OpenedConnection {
  /** The sealed slot; `undefined` if there is nothing to keep, or if a store has it. */
  readonly slot?: string | undefined;
  /** Whether a store has a session of this connection. */
  readonly hasSession?: boolean | undefined;
  /** Whether the session took the place of a lost one, and the model has not been told yet. */
  readonly isReplacement: boolean;
  /** Whether a store keeps the calls that wait, so that a step finds the call of an interrupted step. */
  readonly keepsCalls?: boolean | undefined;
  readonly tools: readonly OfferedTool[];
  /** The server's instructions for its use. */
  readonly instructions?: string | undefined;
}

/** By connection, in the order of the request. Connections that are down are left out. */
export type SessionsResult = Readonly<Record<string, OpenedConnection>>;

/** The request to the step of calls: one tool call. */
export interface CallRequest {
  readonly connection: string;
  /** The server's name of the tool. */
  readonly tool: string;
  readonly input: unknown;
  /** The model's id of the call. */
  readonly toolCallId?: string | undefined;
  readonly principal: Principal;
  readonly sessionId?: string | undefined;
  /** The connection's slot from the step of sessions. */
  readonly slot?: string | undefined;
  /** Whether the store had a session. If it is gone, the step must not make another. */
  readonly hasSession?: boolean | undefined;
  readonly mayRunTwice: boolean;
  /** As in `OfferedTool`. */
  readonly isStandIn?: boolean | undefined;
  /** Whether this result tells the model that the session is a new one. */
  readonly tellLoss: boolean;
  /** Goes on with a call that waits. Without it the step begins the call. */
  readonly waiting?: WaitingRequest | undefined;
}

/** What a step does for a call that waits, or that may wait. */
export type WaitingRequest =
  /** Finds the call if its own step was interrupted. Sends nothing. */
  | { readonly kind: "find" }
  | ({
      /**
       * `"told"`: does what the hook was told. `"expire"`: nobody has answered in time. `"look"`: looks at a call that
       * its server works on.
       */
      readonly kind: "told" | "expire" | "look";
      /** What the run's hook got, if anything; only the step can read it. */
      readonly payload?: unknown;
    } & Pick<WaitingStep, "id" | "round" | "record">);

/** A call that waits, between two steps. */
export interface WaitingStep {
  readonly id: string;
  /** Counts the server's questions, from 1; 0 before the first. */
  readonly round: number;
  /** When the run looks at a call that its server works on, in milliseconds since 1970-01-01 UTC. */
  readonly pollAfter?: number | undefined;
  readonly toolCallId: string;
  /** The `WaitingCall` as JSON: its keys come from a server, and the engine cannot take them all. */
  readonly call: string;
  /** The record of the call, sealed; `undefined` if a store has it. */
  readonly record?: string | undefined;
  /** When the run stops waiting, in milliseconds since 1970-01-01 UTC. @default never */
  readonly endsAt?: number | undefined;
}

/** A part of a tool result, in the form that both agents hand to the model. */
export type ResultPart =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "image-data"; readonly data: string; readonly mediaType: string }
  | { readonly type: "file-data"; readonly data: string; readonly mediaType: string };

/** A tool result in the model's form. */
export type ToolResult =
  | { readonly type: "content"; readonly value: ResultPart[] }
  | { readonly type: "text"; readonly value: string }
  | { readonly type: "json"; readonly value: unknown };

/**
 * The outcome of a call. A failure is a value too, because the engine only keeps the text of a thrown
 * error.
 */
export type CallResult =
  | {
      readonly ok: true;
      readonly output: ToolResult;
      /** Set if the call waits: `output` then only says so. */
      readonly waiting?: WaitingStep | undefined;
    }
  | {
      readonly ok: false;
      /** `undefined` for an error that is not ours, such as a refusal of the server. */
      readonly code?: McpSessionErrorCode | undefined;
      readonly message: string;
      /** Whether the session is gone, so that another has to be opened. */
      readonly isLost: boolean;
      /** Whether the call may be made again on the next session. */
      readonly maySendAgain: boolean;
      /** The slot without its session. */
      readonly slot?: string | undefined;
      /** Set if the call still waits, because it was certainly not carried out. */
      readonly waiting?: WaitingStep | undefined;
    };

/**
 * The application's step functions. The application declares them, so their ids do not depend on this
 * package.
 */
export interface ConnectionStepFunctions {
  /** Opens or ends sessions, in a step. The engine may repeat it. */
  readonly sessions: (request: SessionsRequest) => Promise<SessionsResult>;
  /** Makes one tool call, in a step. The engine may not repeat it: `maxRetries = 0`. */
  readonly call: (request: CallRequest) => Promise<CallResult>;
}

/** What the hook of a call that waits tells whoever lists these calls: the hook's metadata. */
export interface QuestionHook {
  readonly type: "durable-mcp/question";
  /** As in `WaitingStep`. */
  readonly call: string;
  readonly principal: Principal;
  readonly sessionId?: string | undefined;
}

/** What the hook of a call that waits gets: what a person said, as JSON. Sealed, if the steps have keys. */
export type HookPayload = { readonly sealed: string } | { readonly plain: string };
