import type { Principal } from "@durable-mcp/core";
import type { JSONRPCRequest } from "../base/mcp-types.ts";
import { fingerprint } from "../base/session-id.ts";
import type { LiveContext } from "./handler-context.ts";
import { type RunningCall, runningCall } from "./running-call.ts";
import type { RequestState, StatePlace } from "./request-state.ts";
import type { StateAccess } from "../author/server-session.ts";
import type { SessionHandlerOptions } from "../author/session-handler-options.ts";
import { createStateAccess, stateOptionsOf } from "./state-access.ts";
import { createStateFinder } from "./state-scope.ts";

/** The states of one live session's requests. */
export interface SessionStates<State extends object> {
  /** For the author's code. */
  readonly access: StateAccess<State>;
  /** The request in whose handler code of this session runs. */
  readonly running: () => RunningCall | undefined;
  /** For requests that begin. A promise only when their states have to be read. */
  begin(requests: readonly JSONRPCRequest[]): RequestState[] | Promise<RequestState[]>;
}

export async function createSessionStates<State extends object>(
  context: LiveContext,
  options: SessionHandlerOptions<State>,
  principal: Principal,
): Promise<SessionStates<State>> {
  const { stored, sessionId } = context;
  const stateOptions = stateOptionsOf(context, options, fingerprint(stored.hash));
  const createAccess = (outside: StatePlace) => {
    const running = () => {
      const call = runningCall.getStore();
      return call?.session === access ? call : undefined;
    };
    const access: StateAccess<State> = createStateAccess(
      stateOptions,
      outside,
      () => running()?.state,
    );
    return { access, running };
  };
  const { stateScope = "session" } = options;
  if (stateScope === "session") {
    const begin: SessionStates<State>["begin"] = (requests) =>
      requests.map(() => ({ row: stored }));
    return { ...createAccess({ row: stored }), begin };
  }
  const finder = createStateFinder(context, stateScope);
  const { owner } = stored.record;
  const own = await finder.ofSession(sessionId, { principal, owner });
  // For `createServer`.
  await own.row?.load();
  return {
    ...createAccess(own),
    begin: (requests) => Promise.all(requests.map((request) => finder.find(request, owner, own))),
  };
}
