import type { CallState } from "../state/call-state.ts";
import type { StateRow } from "../state/stored-state.ts";

/** The state of one request, which most requests do not use. */
export interface RequestState {
  readonly row: StateRow;
  /** Made when the author's code first uses the state. */
  call?: CallState<object>;
}
