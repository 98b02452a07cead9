import {
  type Principal,
  type ActiveSessionSnapshot,
  type SessionStore,
  type StoredRecord,
  type StoredValue,
} from "@durable-mcp/core";
import type { McpClientConnection } from "../connection/define-connection.ts";
import { endMcpSession } from "../http/end-mcp-session.ts";
import {
  parseRecord,
  parseRecordKey,
  recordKey,
  recordOwner,
  recordValue,
  type SessionRecord,
} from "./session-record.ts";
import type { EndedSession } from "../slots/stored-session.ts";

/**
 * What becomes of the record:
 *
 * - `restart`: it stays, without the session.
 * - `idle`: as `restart`; and left alone when somebody else writes it meanwhile.
 * - `end`: removed, unless the session could not be ended.
 * - `sweep`: as `end`, but kept only once; and left alone when somebody else writes it meanwhile.
 * - `delete`: removed whatever happens.
 */
export type EndMode = "restart" | "idle" | "end" | "sweep" | "delete";

/**
 * Ends the MCP sessions of one record on their server. The record is claimed first: from then on it
 * says that they are being ended, so that no step goes on in them, only one process works on them,
 * and a process that dies leaves them to the next.
 *
 * @returns `undefined` when somebody else took care of it meanwhile
 * @throws {McpSessionError} `STORE_FAILED`
 */
export async function endRecord({
  store,
  stored,
  definition,
  principal,
  mode,
  now,
}: {
  store: SessionStore;
  stored: StoredRecord;
  /** The connection's; `undefined` when there is none any more. */
  definition: McpClientConnection | undefined;
  principal: Principal;
  mode: EndMode;
  now: () => number;
}): Promise<EndedSession | undefined> {
  const name = parseRecordKey(stored.key)!;
  const { agent: _, ...whose } = name;
  const { connection } = name;
  const isRestart = mode === "restart" || mode === "idle";
  // Not the record's: a store may list something in the principal's place.
  const key = recordKey(name, principal);
  const owner = recordOwner(principal);
  const url = definition && new URL(definition.options.url).href;
  /** What an attempt could not end, also when the record had to be looked at again. */
  let notEnded: EndedSession | undefined;

  const attempt = async ({
    value,
    revision,
  }: StoredValue): Promise<EndedSession | StoredValue | undefined> => {
    const record = parseRecord(value);
    const targets = sessionsOf(record);
    const endable = targets.filter((session) => session.url === url);
    const isUndeclared = endable.length < targets.length;
    const result = {
      ...whose,
      ended: !isUndeclared,
      removed: false,
      ...(isUndeclared && { reason: "undeclared" as const }),
    };
    const isForgotten = record?.snapshot.kind === "lost" && targets.length === 0;
    if (isRestart && isForgotten) return result;
    if (endable.length === 0 || record === undefined) {
      const deleted = await store.delete(key, revision);
      return deleted.ok ? { ...result, removed: true } : deleted.current;
    }

    const write = async (ifRevision: string, ending: readonly ActiveSessionSnapshot[]) => {
      const snapshot = { version: 1, kind: "lost", url: record.snapshot.url } as const;
      const { startedAt, idleTimeoutMs } = record;
      const next: SessionRecord = {
        ...{ version: 1, snapshot, startedAt, savedAt: now() },
        ...(ending.length > 0 && { ending }),
        ...(idleTimeoutMs !== undefined && { idleTimeoutMs }),
      };
      return await store.put(key, recordValue(next), ifRevision, { owner });
    };
    const claim = await write(revision, endable.map(withoutContents));
    if (!claim.ok) return claim.current;

    const outcomes = await Promise.all(
      endable.map((snapshot) =>
        endMcpSession({ definition: definition!, connection, principal, snapshot, now }),
      ),
    );
    const failure = outcomes.find(({ ended }) => !ended);
    const outcome: EndedSession = { ...result, ...failure };
    const wasClaimed = record.snapshot.kind === "lost";
    const isKept = failure && mode !== "delete" && !(mode === "sweep" && wasClaimed);
    if (isKept) return outcome;
    if (failure) notEnded = outcome;
    if (isRestart) {
      await write(claim.revision, []);
      return outcome;
    }
    const deleted = await store.delete(key, claim.revision);
    // With another session in the meantime: somebody uses it.
    if (!deleted.ok && mode === "delete") return deleted.current;
    return { ...outcome, removed: deleted.ok };
  };

  let current: StoredValue = stored;
  for (;;) {
    const outcome = await attempt(current);
    if (outcome === undefined) return notEnded && { ...notEnded, removed: true };
    if (!("revision" in outcome)) return { ...outcome, ...notEnded, removed: outcome.removed };
    if (mode === "sweep" || mode === "idle") return undefined;
    current = outcome;
  }
}

function sessionsOf(record: SessionRecord | undefined): ActiveSessionSnapshot[] {
  const { snapshot, ending = [] } = record ?? {};
  return snapshot?.kind === "session" ? [...ending, snapshot] : [...ending];
}

/** What it takes to end a session. */
function withoutContents(session: ActiveSessionSnapshot): ActiveSessionSnapshot {
  const { toolList: _, replacesLost: __, ...rest } = session;
  const { protocolVersion, serverInfo } = session.initializeResult;
  const { name, version } = serverInfo;
  return {
    ...rest,
    initializeResult: { protocolVersion, capabilities: {}, serverInfo: { name, version } },
    clientCapabilities: {},
  };
}
