import type { JsonValue } from "@durable-mcp/core";
import type { Awaitable, ConnectionContext } from "./connection-context.ts";

/** Schemas for typed and validated tools, by the server's names. */
export type ConnectionToolSchemas = Record<string, { inputSchema: any; outputSchema?: any }>;

/** What stands before the server's names of tools, in the types. `undefined` stands for the default. */
export type ToolNamePrefix = string | false | undefined;

/** The tool call for which a function of `providedArguments` gives a value. */
export interface ProvidedArgumentContext extends ToolCallContext {
  /** The id of the agent session, where it has one, such as a chat. */
  readonly sessionId: string | undefined;
  /** The id that the model gave its call; `undefined` for `run.call`, and in LangChain. */
  readonly toolCallId: string | undefined;
  /** Aborts with the call, when the function takes too long, and when the step is over. */
  readonly abortSignal: AbortSignal;
}

/** A value of JSON, or a function that returns it, called once for each call. */
export type ProvidedArgument =
  | JsonValue
  | ((context: ProvidedArgumentContext) => Awaitable<JsonValue>);

/** The options that decide how the model sees a connection's tools. */
export interface ToolOptions<
  SCHEMAS extends ConnectionToolSchemas | undefined,
  PREFIX extends ToolNamePrefix,
> {
  /** Which of the server's tools are offered, by the server's names. @default all */
  readonly tools?:
    | { readonly allow: readonly string[] }
    | { readonly block: readonly string[] }
    | undefined;
  /**
   * The names of the tools for the model. `prefix` is the whole text before the server's name of a tool:
   * with `"shop_"` the tool `search` is named `shop_search`. `false` leaves the server's names as they
   * are. Letters, digits, "_" and "-". Two tools of one name are refused, or left out with the event
   * `tools-collide`. @default `<connection>__`
   */
  readonly toolNames?: { readonly prefix?: PREFIX | undefined } | undefined;
  /**
   * Arguments that the application supplies, by name, in every call of every tool. The schema that the model
   * sees has none of them, and a value of the model's is replaced. Functions are called once for each call
   * and have `timeouts.connectMs`; if one fails, nothing is sent (`CONNECTION_UNAVAILABLE`). No value is in
   * an event, a span or an error. With `schemas`, leave these arguments out of the schemas.
   */
  readonly providedArguments?: Readonly<Record<string, ProvidedArgument>> | undefined;
  /** Typed and validated tools; only these are offered. @default all, with the server's JSON Schema */
  readonly schemas?: SCHEMAS;
}

/** A call of a connection's tool. */
export interface ToolCallContext extends ConnectionContext {
  /** The server's name of the tool. */
  readonly tool: string;
}

/** A call that may need an approval. */
export interface ToolApprovalCall extends ToolCallContext {
  /** The tool's name for the model: by default `<connection>__<tool>`. */
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
 * Whether a call runs. `"user-approval"`, or `true`: a person has to approve it. `"denied"`: its result says that
 * the application denied it, with the reason. Otherwise it runs.
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

/** A tool as a connection's `approval` sees it, by the server's name. */
export interface JudgedTool {
  readonly name: string;
  readonly annotations?: unknown;
}

/**
 * How far a tool call has come, as its server says. Nothing of it is to be trusted.
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/progress
 */
export interface ToolProgress {
  /** Grows with each report. It begins again when the call is sent again. */
  readonly progress: number;
  /** The `progress` at the end, if the server knows it. */
  readonly total?: number | undefined;
  /** For people, at most 1,000 characters. */
  readonly message?: string | undefined;
}

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
