import { fingerprint } from "../base/session-id.ts";
import { type CallState, createCallState, frozenState, updateState } from "../state/call-state.ts";
import type { StateOptions } from "../state/combine-states.ts";
import type { StateRow } from "../state/stored-state.ts";
import type { LiveContext } from "./handler-context.ts";
import { runningCall } from "./running-call.ts";
import type { RequestState } from "./request-state.ts";
import type { SessionState } from "./server-session.ts";
import type { SessionHandlerOptions } from "./session-handler-options.ts";

interface RequestStates<State extends object> extends SessionState<State> {
  /** For a request that begins. */
  begin(): RequestState;
}

export function createSessionState<State extends object>(
  { stored, settings, emit }: LiveContext,
  { migrate, onStateConflict }: SessionHandlerOptions<State>,
): RequestStates<State> {
  const session = fingerprint(stored.hash);
  const row: StateRow = stored;
  const options: StateOptions<State> = {
    maxBytes: settings.limits.stateBytes,
    migrate,
    onConflict: onStateConflict,
    onConflictSeen: (resolved) => emit({ type: "state-conflict", session, resolved }),
    onInvalid: (error) => emit({ type: "state-invalid", session, error }),
  };
  const state: RequestStates<State> = {
    get current() {
      return (running()?.draft as State | undefined) ?? frozenState(row, options);
    },
    update: (change) =>
      running()?.update((draft) => change(draft as State)) ?? updateState(row, options, change),
    begin: () => ({ row }),
  };
  /** The call in whose handler this runs, if it is one of this session. */
  function running() {
    const call = runningCall.getStore();
    if (call?.session !== state || !call.state || call.state.isOver) return undefined;
    return (call.state.call ??= createCallState(call.state.row, options) as CallState<object>);
  }
  return state;
}
