import { AsyncLocalStorage } from "node:async_hooks";
import type { JSONRPCRequest } from "../base/mcp-types.ts";
import type { RequestState } from "./request-state.ts";

/** The request in whose handler code runs, and the session to which it belongs. */
export interface RunningCall {
  readonly session: object;
  readonly state: RequestState | undefined;
  readonly request: JSONRPCRequest;
}

export const runningCall = new AsyncLocalStorage<RunningCall>();
