import type { JSONRPCRequest } from "../base/mcp-types.ts";
import { fingerprint } from "../base/session-id.ts";
import type { LiveContext } from "./handler-context.ts";
import { runningCall } from "./running-call.ts";
import type { RequestState } from "./request-state.ts";
import type { SessionHandlerOptions } from "./session-handler-options.ts";
import { createStateAccess, type StateAccess, stateOptionsOf } from "./state-access.ts";
import type { OwnState, StateFinder } from "./state-scope.ts";

/** The states of one live session's requests. */
export interface SessionStates<State extends object> {
  /** For the author's code. */
  readonly access: StateAccess<State>;
  /** For requests that begin. A promise only when their states have to be read. */
  begin(requests: readonly JSONRPCRequest[]): RequestState[] | Promise<RequestState[]>;
}

/** @param elsewhere where the session's own state is, if it is not in the session's record */
export function createSessionStates<State extends object>(
  context: LiveContext,
  options: SessionHandlerOptions<State>,
  elsewhere: { readonly own: OwnState; readonly finder: StateFinder } | undefined,
): SessionStates<State> {
  const { stored } = context;
  const stateOptions = stateOptionsOf(context, options, fingerprint(stored.hash));
  const place = elsewhere?.own ?? { row: stored };
  const access: StateAccess<State> = createStateAccess(stateOptions, place, () => {
    const call = runningCall.getStore();
    return call?.session === access ? call.state : undefined;
  });
  if (!elsewhere) return { access, begin: (requests) => requests.map(() => ({ row: stored })) };
  const { own, finder } = elsewhere;
  const { owner } = stored.record;
  return {
    access,
    begin: (requests) => Promise.all(requests.map((request) => finder.find(request, owner, own))),
  };
}
