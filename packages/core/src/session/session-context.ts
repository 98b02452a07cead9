import type { OutgoingRequest } from "../wire/outgoing-request.ts";
import type { RequestIds } from "../wire/request-ids.ts";
import type { SendToEndpoint } from "../wire/server-endpoint.ts";
import type { LiveSession } from "./live-session.ts";
import type { EmitSessionEvent } from "./session-event.ts";
import { headersForMessage } from "./session-headers.ts";
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

/** The parts of a client's request that the fetch uses for a message of its own. */
export type RequestTemplate = Pick<OutgoingRequest, "headers" | "init">;

/** Sends a message of the fetch itself, on a session or, for `initialize`, on no session. */
export function sendOwn(
  { send }: SessionContext,
  message: { readonly method: string; readonly id?: string; readonly params?: object },
  session: LiveSession | undefined,
  { headers, init }: RequestTemplate,
  signal: AbortSignal,
): Promise<Response> {
  const body = JSON.stringify({ jsonrpc: "2.0", ...message });
  return send({ method: "POST", headers: headersForMessage(headers, session), body, signal, init });
}
