import type { ActiveSessionSnapshot } from "@durable-mcp/core";
import { endpointOf } from "../connection/define-connection.ts";
import { clientConnections } from "../connection/mcp-connection.ts";
import { endMcpSession } from "../http/end-mcp-session.ts";
import type { NamedUse } from "../slots/named-slots.ts";
import type { SlotName } from "../slots/step-slot.ts";
import type { StepContext } from "./sessions-context.ts";
import type { SlotRecord } from "./slot-record.ts";

export type UnusedSessions = ReturnType<typeof createUnusedSessions>;

/** Ends the sessions without a user: those that this step gave up, and those that earlier steps left. */
export function createUnusedSessions(
  { provider, emit, now }: StepContext,
  of: SlotName,
  { principal, definition }: NamedUse,
) {
  /** The connection of a URL. A session's id goes nowhere else than to a URL that is declared now. */
  const declaredAt = (url: string) => {
    if (endpointOf(definition) === url) return { connection: of.connection, definition };
    const declared = Object.entries(clientConnections(provider.declaredFor(principal)));
    const found = declared.find(([, each]) => endpointOf(each) === url);
    return found && { connection: found[0], definition: found[1] };
  };
  /** Sessions of the record that this step has tried to end. */
  const tried = new Set<string>();
  const attempts: Promise<void>[] = [];

  const end = async (snapshot: ActiveSessionSnapshot) => {
    const declared = declaredAt(snapshot.url);
    if (declared === undefined) return;
    const outcome = await endMcpSession({ ...declared, principal, snapshot, now });
    if (outcome.ended) return;
    const { ended: _, ...why } = outcome;
    emit({ type: "not-ended", ...of, ...why });
  };
  const endInBackground = (session: ActiveSessionSnapshot) => void attempts.push(end(session));

  return {
    end: endInBackground,
    /** Tries to end sessions that an earlier process may have left. */
    endLeftOvers(record: SlotRecord | undefined) {
      for (const session of record?.ending ?? []) {
        if (tried.has(session.sessionId)) continue;
        tried.add(session.sessionId);
        endInBackground(session);
      }
    },
    /** The sessions of the record that this step has not tried to end. */
    stillToEnd: (record: SlotRecord | undefined) =>
      record?.ending?.filter(({ sessionId }) => !tried.has(sessionId)),
    settle: () => Promise.all(attempts),
  };
}
