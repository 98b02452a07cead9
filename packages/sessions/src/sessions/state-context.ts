import { createStateStore, ofState, type StateStore } from "../records/state-store.ts";
import type { ProviderInternals } from "./provider-internals.ts";
import type { SessionsContext } from "./sessions-context.ts";

/** The context of a state, data from outside. It is not shared, so that nothing has to be marked as used. */
export function createStateContext(
  provider: ProviderInternals<any>,
  state: unknown,
  namespace = 0,
): SessionsContext & { readonly carried: StateStore } {
  const { emit: tell, now, work } = provider;
  const store = createStateStore(state);
  return {
    ...{ provider, store, carried: store, agent: ofState.agent, namespace },
    ...{ touchIntervalMs: 0, maybeInUseMs: 0, tell, now, work },
  };
}
