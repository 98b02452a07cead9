import type { RequestIds } from "../wire/request-ids.ts";
import type { SendToEndpoint } from "../wire/server-endpoint.ts";
import type { SendOwnMessage } from "./own-message.ts";
import type { EmitSessionEvent } from "./session-event.ts";
import { type SlotState, takeResumed } from "./session-life.ts";

/** The context of all parts of one session fetch. The rooms above extend it. */
export interface SessionContext {
  /** The connection's one URL. */
  readonly url: URL;
  readonly state: SlotState;
  readonly ids: RequestIds;
  /** The application's fetch, or the runtime's. */
  readonly fetch: typeof globalThis.fetch;
  readonly send: SendToEndpoint;
  readonly sendOwn: SendOwnMessage;
  readonly emit: EmitSessionEvent;
  /** Milliseconds since 1970-01-01 UTC. */
  readonly now: () => number;
}

/** Reports once for each slot that the session of an earlier step is in use again. */
export function announceResumption({ state, emit }: SessionContext): void {
  const resumed = takeResumed(state);
  if (resumed === undefined) return;
  emit({ type: "resumed", protocolVersion: resumed.initializeResult.protocolVersion });
}
