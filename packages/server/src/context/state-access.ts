import { McpSessionError } from "@durable-mcp/core";
import { type CallState, createCallState, frozenState, updateState } from "../state/call-state.ts";
import type { StateOptions } from "../state/combine-states.ts";
import type { StateRow } from "../state/stored-state.ts";
import type { HandlerContext } from "./handler-context.ts";
import type { RequestState, StatePlace } from "./request-state.ts";
import type { StateAccess } from "../author/server-session.ts";
import type { SessionHandlerOptions } from "../author/session-handler-options.ts";

/**
 * @param outside the state for code outside of a handler
 * @param running the request in whose handler the code runs
 */
export function createStateAccess<State extends object>(
  options: StateOptions<State>,
  outside: StatePlace,
  running: () => RequestState | undefined,
): StateAccess<State> {
  /** `undefined` for code outside of a call, and for that which goes on after it. */
  function callOf(request: RequestState | undefined): CallState<State> | undefined {
    if (!request || request.isOver) return undefined;
    request.call ??= createCallState(rowOf(request), options) as CallState<object>;
    return request.call as CallState<State>;
  }
  return {
    current: () => {
      const request = running();
      return callOf(request)?.draft ?? frozenState(rowOf(request ?? outside), options);
    },
    update: async (change) => {
      const request = running();
      const call = callOf(request);
      return call
        ? await call.update(change)
        : await updateState(rowOf(request ?? outside), options, change);
    },
    handle: () => {
      const request = running();
      if (request?.missing) throw request.missing();
      if (!request?.handle) throw noHandle();
      request.handle.isRead = true;
      return request.handle.text;
    },
  };
}

function rowOf({ row, missing }: StatePlace): StateRow {
  if (row) return row;
  throw missing?.() ?? new Error("A request without a state is answered before its handler runs.");
}

function noHandle(): McpSessionError {
  return new McpSessionError(
    "STATE_INVALID",
    'session.handle is there in handlers, and only with stateScope: { handle: "…" }, which names the argument that carries it.',
    { data: { field: "stateScope" } },
  );
}

/** @param session its fingerprint, for events */
export function stateOptionsOf<State extends object>(
  { settings, emit }: HandlerContext,
  { migrate, onStateConflict }: SessionHandlerOptions<State>,
  session: string | undefined,
): StateOptions<State> {
  return {
    maxBytes: settings.limits.stateBytes,
    migrate,
    onConflict: onStateConflict,
    onConflictSeen: (resolved) => emit({ type: "state-conflict", session, resolved }),
    onInvalid: (error) => emit({ type: "state-invalid", session, error }),
  };
}
