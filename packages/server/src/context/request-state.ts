import type { Answer } from "../base/mcp-types.ts";
import type { CallState } from "../state/call-state.ts";
import type { StateChange, StateRow } from "../state/stored-state.ts";

/** The handle of a request's state. */
export interface RequestHandle {
  readonly text: string;
  /** The author's code has read it, and its client may come back with it. */
  isRead: boolean;
  /**
   * What is to be stored with the answer.
   * @throws {McpSessionError} `STATE_INVALID` when nobody could find the state again
   */
  changeOf(change: StateChange | undefined): StateChange | undefined;
}

/** Where the state of a request is. */
export interface StatePlace {
  /** `undefined` when it has none. */
  readonly row?: StateRow | undefined;
  /** Why it has none, for code that uses it. */
  readonly missing?: (() => Error) | undefined;
}

/** The state of one request, which most requests do not use. */
export interface RequestState extends StatePlace {
  readonly handle?: RequestHandle;
  /** The request is answered or cancelled: code that goes on is in no call any more. */
  isOver?: boolean;
  /** Made when the author's code first uses the state. */
  call?: CallState<object>;
  /** The request names a state that it may not use: the answer, in place of the server's. */
  readonly refusal?: Answer;
}

/**
 * What is to be stored with the answer; `undefined` when nothing has changed.
 * @throws {McpSessionError} `STATE_INVALID`
 */
export function changeOf({ call, handle }: RequestState): StateChange | undefined {
  const change = call?.change();
  return handle ? handle.changeOf(change) : change;
}

/** The request is answered or cancelled. */
export function endState(state: RequestState): void {
  state.isOver = true;
  state.call?.close();
}
