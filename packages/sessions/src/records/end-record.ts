import type { ActiveSessionSnapshot, SessionStore, StoredValue } from "@durable-mcp/core";
import { isLost } from "@durable-mcp/core/internal";
import { endpointOf } from "../declare/define-connection.ts";
import { endMcpSession } from "../connection/end-mcp-session.ts";
import { afterEnd, type EndUse, isNewerEntry, lostSnapshot, planEnd } from "./kept-session.ts";
import type { EndedSession } from "./session-reports.ts";
import { createRecord, type ListedRecord, type RecordName, whoseRecord } from "./slot-record.ts";
import { createRecordCell } from "./stored-records.ts";

/**
 * Ends the MCP sessions of one record on their server. It claims the record first: the record then
 * says that the sessions are being ended. So no step goes on in them, only one process works on
 * them, and if that process dies, the next one finishes.
 *
 * @returns `undefined` when another process took care of the record meanwhile
 * @throws {McpSessionError} `STORE_FAILED`
 */
export async function endRecord(
  { store, now }: { readonly store: SessionStore; readonly now: () => number },
  name: RecordName,
  stored: StoredValue,
  { definition, principal, mode, timeoutMs }: EndUse,
): Promise<EndedSession | undefined> {
  const whose = whoseRecord(name);
  const cell = createRecordCell(store, name, principal, stored);
  /** What an earlier attempt could not end, if another process then wrote the record. */
  let notEnded: EndedSession | undefined;

  /** Writes that the record has no session, and which sessions are still to be ended. */
  const claim = async (
    ending: readonly ActiveSessionSnapshot[],
    url?: string,
  ): Promise<boolean> => {
    const record = cell.record ?? { snapshot: undefined, savedAt: now() };
    // The list of the next session is compared with it.
    const { toolList } = { toolList: undefined, ...record.snapshot };
    const snapshot = lostSnapshot({ url: url ?? record.snapshot!.url, toolList });
    return await cell.put(createRecord({ ...record, snapshot, ending }));
  };

  /** @returns `undefined` when another process wrote the record meanwhile */
  const attempt = async (): Promise<EndedSession | undefined> => {
    const isNamed = (name.name ?? name.shared) !== undefined;
    const { act, sessions, outcome } = planEnd(cell.record, { definition, mode, isNamed });
    const planned = { ...whose, ...outcome, removed: false };
    if (act === "leave") return planned;
    if (act === "lose") {
      const isClaimed = await claim(sessions.map(withoutContents), endpointOf(definition!));
      return isClaimed ? planned : undefined;
    }
    if (act === "forget") return (await cell.delete()) ? { ...planned, removed: true } : undefined;

    const wasTried = isLost(cell.record!.snapshot);
    if (!(await claim(sessions.map(withoutContents)))) return undefined;
    const { connection } = name;
    const use = { definition: definition!, connection, principal, timeoutMs, now };
    const ends = await Promise.all(sessions.map((snapshot) => endMcpSession({ ...use, snapshot })));
    const failure = ends.find(({ ended }) => !ended);
    const ended: EndedSession = { ...planned, ...failure };
    const next = afterEnd(mode, { failed: failure !== undefined, wasTried });
    if (next === "again") return ended;
    if (next === "lost") {
      await claim([]);
      return ended;
    }
    if (failure) notEnded = ended;
    const removed = await cell.delete();
    // The record has another session now: look at it again.
    if (!removed && mode === "delete") return undefined;
    return { ...ended, removed };
  };

  while (cell.isStored) {
    if (cell.isNewer) {
      const removed = mode === "delete";
      if (removed && !(await cell.delete())) continue;
      return { ...whose, ended: false, reason: "newer", removed };
    }
    const ended = await attempt();
    if (ended) return { ...ended, ...notEnded, removed: ended.removed };
    if (mode === "sweep" || mode === "idle") return undefined;
  }
  return notEnded && { ...notEnded, removed: true };
}

/** Removes a record, unless a later release wrote it, and tells no server. @returns `undefined` if another process took care of it meanwhile */
export async function removeRecord(
  store: SessionStore,
  { key, revision, of, value }: ListedRecord,
): Promise<EndedSession | undefined> {
  if (isNewerEntry(value)) {
    return { ...whoseRecord(of), ended: false, reason: "newer", removed: false };
  }
  const deleted = await store.delete(key, revision);
  return deleted.ok ? { ...whoseRecord(of), ended: false, removed: true } : undefined;
}

/** The part of a session that it takes to end it. */
function withoutContents(session: ActiveSessionSnapshot): ActiveSessionSnapshot {
  const { toolList: _, replacesLost: __, clientInfo: ___, ...rest } = session;
  const { protocolVersion, serverInfo } = session.initializeResult;
  const { name, version } = serverInfo;
  return {
    ...rest,
    initializeResult: { protocolVersion, capabilities: {}, serverInfo: { name, version } },
    clientCapabilities: {},
  };
}
