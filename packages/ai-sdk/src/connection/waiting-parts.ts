import type {
  InputResponses,
  WaitingAuthorization,
  WaitingResult,
} from "@durable-mcp/core/waiting";
import type { ShownRound, WaitingRecord } from "@durable-mcp/core/waiting/internal";

/** A pausing connection's own part of its waiting calls. */
export interface PausingCalls {
  /** A call in any state; `undefined` for an unknown id. */
  read(id: string): Promise<WaitingRecord | undefined>;
  /** All calls of the agent session and principal, of other connections too. */
  list(): Promise<WaitingRecord[]>;
  /** Sends answers. @throws {McpSessionError} `NOT_WAITING`, `INPUT_INVALID`, or why nothing was sent */
  answer(
    call: WaitingRecord,
    responses: InputResponses,
    use: { readonly round?: number | undefined; readonly signal?: AbortSignal | undefined },
  ): Promise<WaitingRecord>;
  /** Takes a call back. @throws {McpSessionError} `NOT_WAITING` */
  withdraw(id: string): Promise<unknown>;
  /** Notes that a graph is about to show a question. @throws {McpSessionError} `NOT_WAITING` */
  show(id: string, shown: ShownRound): Promise<void>;
}

/** A tool call that only goes on when the user has signed in. */
interface LockedCall {
  /** The server's name of the tool. */
  readonly tool: string;
  /** The tool's, as the server had listed it. */
  readonly annotations?: unknown;
  /** As the model gave it. */
  readonly input: unknown;
  readonly toolCallId: string;
  /** The tool calls of agents around it, the root's first. @default none */
  readonly path?: WaitingRecord["path"] | undefined;
  /** Whether it is the call of a stand-in for the connection's tools. @default false */
  readonly isStandIn?: boolean | undefined;
}

/** A connection's own part of its user's sign-in. */
export interface SignIn {
  /** The connection's URL, in the form of records. */
  readonly url: string;
  /** The sign-in that the connection waits for; `undefined` if there is none. Sends nothing. */
  pending(): Promise<WaitingAuthorization | undefined>;
  /**
   * Keeps a call until the user has signed in, and gives the placeholder for its result; `undefined` if it is too
   * long to be kept. Not there where no call can wait.
   */
  readonly park?: ((call: LockedCall) => Promise<WaitingResult | undefined>) | undefined;
  /** Takes a kept call back. @throws {McpSessionError} `NOT_WAITING` */
  readonly withdraw?: ((id: string) => Promise<unknown>) | undefined;
}
