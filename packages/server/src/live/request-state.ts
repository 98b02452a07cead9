import type { CallState } from "../state/call-state.ts";
import type { StateRow } from "../state/stored-state.ts";

/** The state of one request, which most requests do not use. */
export interface RequestState {
  readonly row: StateRow;
  /** The request is answered or cancelled: code that goes on is in no call any more. */
  isOver?: boolean;
  /** Made when the author's code first uses the state. */
  call?: CallState<object>;
}
