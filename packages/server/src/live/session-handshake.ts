import type { Answer, MessageExtra } from "../base/mcp-types.ts";
import type { StoredSession } from "../records/stored-session.ts";
import type { ServerLink } from "../author/server-link.ts";

/** The `initialize` of one live session: its client's, or the stored one. */
export interface SessionHandshake {
  /** Initializes a new session's server. `undefined` when it was closed meanwhile. */
  start(extra: MessageExtra): Promise<Answer | undefined>;
  /** Initializes the server again. @returns the revision that the server negotiated */
  replay(): Promise<string | undefined>;
}

export function createSessionHandshake(
  stored: StoredSession,
  inject: ServerLink["inject"],
): SessionHandshake {
  const send = (params: object, extra: MessageExtra) =>
    inject({ method: "initialize", params, id: "answered", extra });
  return {
    start: (extra) => send(stored.record.initialize, extra),
    replay: async () => {
      const { initialize, protocolVersion } = stored.record;
      return negotiatedVersion(await send({ ...initialize, protocolVersion }, {}));
    },
  };
}

/** `undefined` when the server refused. */
export function negotiatedVersion(answer: Answer | undefined): string | undefined {
  const version = answer && "result" in answer ? answer.result["protocolVersion"] : undefined;
  return typeof version === "string" ? version : undefined;
}
