import type {
  ActiveSessionSnapshot,
  Principal,
  SessionStore,
  StoredRecord,
} from "@durable-mcp/core";
import type { McpClientConnection } from "../connection/define-connection.ts";
import { endMcpSession } from "../http/end-mcp-session.ts";
import { afterEnd, type EndMode, lostSnapshot, planEnd } from "../slots/kept-session.ts";
import type { EndedSession } from "../slots/session-reports.ts";
import { createRecordCell } from "./stored-records.ts";
import { createRecord, parseRecordKey, recordKey, recordOwner } from "./slot-record.ts";

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
  stored: Pick<StoredRecord, "key" | "value" | "revision">;
  /** The connection's; `undefined` when there is none any more. */
  definition: McpClientConnection | undefined;
  principal: Principal;
  mode: EndMode;
  now: () => number;
}): Promise<EndedSession | undefined> {
  const name = parseRecordKey(stored.key)!;
  const { agent: _, ...whose } = name;
  // A key of our own: the store may list something else in the principal's place.
  const key = recordKey(name, principal);
  const cell = createRecordCell({ store, key, owner: recordOwner(principal), stored });
  /** What an earlier attempt could not end, of a record that had to be looked at again. */
  let notEnded: EndedSession | undefined;

  /** Has the record say that its session is gone, and which are still to be ended. */
  const claim = async (ending: readonly ActiveSessionSnapshot[]): Promise<boolean> => {
    const { snapshot, startedAt, idleTimeoutMs } = cell.record!;
    const lost = { snapshot: lostSnapshot(snapshot), startedAt, savedAt: now(), idleTimeoutMs };
    return await cell.put(createRecord({ ...lost, ending }));
  };

  const endOnServer = async (sessions: readonly ActiveSessionSnapshot[]) => {
    const { connection } = name;
    const use = { definition: definition!, connection, principal, now };
    const ends = await Promise.all(sessions.map((snapshot) => endMcpSession({ ...use, snapshot })));
    return ends.find(({ ended }) => !ended);
  };

  /** @returns `undefined` when somebody else wrote the record meanwhile */
  const attempt = async (): Promise<EndedSession | undefined> => {
    const isNamed = name.name !== undefined;
    const { act, sessions, outcome } = planEnd(cell.record, { definition, mode, isNamed });
    const planned = { ...whose, ...outcome, removed: false };
    if (act === "leave") return planned;
    if (act === "forget") return (await cell.delete()) ? { ...planned, removed: true } : undefined;

    const wasTried = cell.record!.snapshot.kind === "lost";
    if (!(await claim(sessions.map(withoutContents)))) return undefined;
    const failure = await endOnServer(sessions);
    const ended: EndedSession = { ...planned, ...failure };
    const next = afterEnd(mode, { failed: failure !== undefined, wasTried });
    if (next === "again") return ended;
    if (next === "lost") {
      await claim([]);
      return ended;
    }
    if (failure) notEnded = ended;
    const removed = await cell.delete();
    // With another session in the meantime: somebody uses it.
    if (!removed && mode === "delete") return undefined;
    return { ...ended, removed };
  };

  while (cell.isStored) {
    const ended = await attempt();
    if (ended) return { ...ended, ...notEnded, removed: ended.removed };
    if (mode === "sweep" || mode === "idle") return undefined;
  }
  return notEnded && { ...notEnded, removed: true };
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
