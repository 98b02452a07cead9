import type { JsonRpcNotification } from "../wire/json-rpc.ts";
import { scrubStrings } from "../wire/scrub-session-id.ts";
import type { EmitSessionEvent } from "../session/session-event.ts";
import type { LiveSession } from "../session/live-session.ts";

/** Reports a notification of a session in an event, for clients that drop it. */
export type Notify = (message: JsonRpcNotification, session: LiveSession) => void;

export function createNotify(emit: EmitSessionEvent): Notify {
  return ({ method, params }, session) => {
    const said = { method, params };
    const scrubbed = session.kind === "session" ? scrubStrings(said, session.sessionId) : said;
    emit({ type: "notification", ...(scrubbed as typeof said) });
  };
}
