import type {
  InputResponses,
  WaitingAuthorization,
  WaitingCall,
  WaitingResult,
} from "@durable-mcp/core/waiting";
import type { JudgedTool } from "../declare/tool-options.ts";
import type {
  AskServer,
  KeptCalls,
  StoredCall,
  WaitingAnswer,
  WaitingRecord,
} from "@durable-mcp/core/waiting/internal";

/** The waiting calls of the agent session, as a connection lets them wait. */
type CallsOf = (of: Pick<WaitingCall, "connection">) => Promise<KeptCalls>;

/** The part of a connection with `waiting` in its waiting calls. */
export interface PausingCalls {
  readonly callsOf: CallsOf;
  /** Goes to the server, with the token of the connection. */
  readonly fetch: typeof globalThis.fetch;
  /** The connection's URL, in the form of records. */
  readonly url: string;
  /** Asks the server for what is watched; `undefined` where nobody can. */
  readonly ask?: AskServer | undefined;
  /** Looks at a call that its server keeps, if it is due. @returns the call as it is then */
  look(call: StoredCall, signal?: AbortSignal): Promise<StoredCall>;
  /** Sends answers. @throws {McpSessionError} `NOT_WAITING`, `INPUT_INVALID`, or why nothing was sent */
  answer(
    call: WaitingRecord,
    responses: InputResponses,
    use: { readonly round?: number | undefined; readonly signal?: AbortSignal | undefined },
  ): Promise<WaitingRecord>;
}

/** Where a model has made a call. */
export interface CallPlace {
  readonly toolCallId: string;
  /** The tool calls of agents around it, the root's first. @default none */
  readonly path?: WaitingRecord["path"] | undefined;
  /** Those before it. */
  readonly messages?: readonly unknown[] | undefined;
}

/** What a call gets that repeats another: its placeholder, or its answer. */
export type Repeated = WaitingResult | { readonly answer: WaitingAnswer };

/** A tool call that only goes on when the user has signed in. */
interface LockedCall {
  /** The server's name of the tool. */
  readonly tool: string;
  /** The tool's, as the server had listed it. */
  readonly annotations?: unknown;
  readonly input: unknown;
  /** The tool calls of agents around it, the root's first. @default none */
  readonly path?: WaitingRecord["path"] | undefined;
  /** The input as the model gave it, if hooks have changed it since. @default `input` */
  readonly modelInput?: unknown;
  readonly toolCallId?: string | undefined;
  /** What else tells the call apart, in a graph. */
  readonly scope?: string | undefined;
  /** Whether it is the call of a stand-in for the connection's tools. @default false */
  readonly isStandIn?: boolean | undefined;
  /** Gets the call's record. */
  readonly onCall?: ((call: WaitingRecord) => void) | undefined;
}

/** A connection's own part of its user's sign-in. */
export interface SignIn {
  /** The connection's URL, in the form of records. */
  readonly url: string;
  /** The sign-in that the connection waits for; `undefined` if there is none. Sends nothing. */
  pending(): Promise<WaitingAuthorization | undefined>;
  /** Not there where no call can wait. */
  readonly callsOf?: CallsOf | undefined;
  /**
   * Keeps a call until the user has signed in, and gives the placeholder for its result; `undefined` if it is too
   * long to be kept. There with `callsOf`.
   */
  readonly park?: ((call: LockedCall) => Promise<WaitingResult | undefined>) | undefined;
  /**
   * Carries out a call that has waited, at most once, if the user has signed in. There with `callsOf`.
   *
   * @param tool as it is listed now
   * @returns the call as it is then
   */
  readonly resume?:
    | ((parked: StoredCall, tool: JudgedTool | undefined) => Promise<StoredCall>)
    | undefined;
}
