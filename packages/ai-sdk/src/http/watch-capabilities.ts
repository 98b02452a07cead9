import { type ActiveSessionSnapshot, endSession, type SessionEvent } from "@durable-mcp/core";
import { missingCapabilities } from "../connection/client-capabilities.ts";
import { sessionOptions } from "../connection/define-connection.ts";
import type { HttpParts } from "./stateful-fetch.ts";

/**
 * Compares the session in use with the capabilities that its connection declares, and ends the one that
 * was replaced because it had been made without them, or was too old.
 */
export function watchCapabilities(parts: HttpParts) {
  const { definition, context, slot, connectionFetch, url, emit } = parts;
  const { connection } = context;
  let { outdated } = parts;
  let ending: Promise<void> | undefined;

  const missingIn = (session: ActiveSessionSnapshot) =>
    missingCapabilities(definition.options, session.clientCapabilities);
  const tell = (capabilities: readonly string[], isRestarted: boolean) => {
    if (capabilities.length === 0) return;
    emit({ type: "capabilities-missing", connection, capabilities, isRestarted });
  };
  const tellReplaced = (session: ActiveSessionSnapshot) => {
    const missing = missingIn(session);
    const isForCapabilities =
      sessionOptions(definition).restartOnNewCapabilities && missing.length > 0;
    if (isForCapabilities) tell(missing, true);
    else emit({ type: "discarded", connection, reason: "age" });
  };
  const end = async (snapshot: ActiveSessionSnapshot) => {
    const { fetch } = connectionFetch;
    const { ended, status, reason } = await endSession({ url, snapshot, fetch });
    if (ended || reason === undefined || reason === "no-session") return;
    emit({ type: "not-ended", connection, reason, ...(status !== undefined && { status }) });
  };

  return {
    note({ type }: SessionEvent) {
      const session = slot?.snapshot;
      if (session?.kind !== "session") return;
      if (type === "resumed") tell(missingIn(session), false);
      if (outdated === undefined || (type !== "recovered" && type !== "started")) return;
      tellReplaced(outdated);
      if (outdated.sessionId !== session.sessionId) ending = end(outdated);
      outdated = undefined;
    },
    /** Waits for the end of the replaced session. */
    ended: async () => await ending,
  };
}
