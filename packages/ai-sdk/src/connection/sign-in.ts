import type { WaitingAuthorization, WaitingResult } from "@durable-mcp/core/waiting";

/** A tool call that only goes on when the user has signed in. */
interface LockedCall {
  /** The server's name of the tool. */
  readonly tool: string;
  /** The tool's, as the server had listed it. */
  readonly annotations?: unknown;
  /** As the model gave it. */
  readonly input: unknown;
  readonly toolCallId: string;
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
}
