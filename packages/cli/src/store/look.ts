import {
  type InspectedRecord,
  type ListedCall,
  type ListedRecord,
  parseRecordOwner,
} from "@durable-mcp/sessions/internal";
import type { StoredRecord } from "@durable-mcp/core";
import { waitingKeys } from "@durable-mcp/core/internal";
import {
  isNewerCall,
  parseWaitingRecord,
  type WaitingRecord,
} from "@durable-mcp/core/waiting/internal";
import type { Command } from "commander";
import { CommandFailure } from "../output/command-failure.ts";
import type { OpenedStore } from "./open-store.ts";
import { createShortNames, type ShortName } from "./short-names.ts";

/** A record, by the names that people choose it by. None of them says anything to who has not the store's key. */
export interface Row {
  readonly row: string;
  /** `app`, `anonymous`, `user-…`, or `hidden-…` for a fingerprint. */
  readonly owner: string;
  /** The agent session; `undefined` for a session that agent sessions share. */
  readonly agentSession: string | undefined;
  /** `null` for what agents share. */
  readonly agent: string | null;
  readonly isSealed: boolean;
  /** Where it is in the store, and whose. */
  readonly stored: Pick<StoredRecord, "key" | "owner">;
}

export interface SessionRow extends Row {
  readonly of: ListedRecord["of"];
  readonly details: InspectedRecord;
  /** Of the record's JSON. */
  readonly bytes: number;
  /** Without its value, which can be large. */
  readonly stored: Omit<ListedRecord, "value">;
}

export interface CallRow extends Row {
  readonly of: ListedCall["of"];
  /** `undefined` if it is sealed or does not parse. */
  readonly call: WaitingRecord | undefined;
  /** Whether a later release wrote it. */
  readonly isNewer: boolean;
}

/** A call from a list of all records. */
export interface RecordedCall extends CallRow {
  readonly stored: ListedCall;
}

/** Whether a call waits, or an answer to it is under way, as far as it can be read. */
export function isOpen({ call }: CallRow): boolean {
  return call === undefined || call.state === "waiting" || call.state === "answering";
}

/** What a store has of sessions and waiting calls; what was used last is first. */
export interface Look<CALL extends CallRow = RecordedCall> {
  readonly sessions: readonly SessionRow[];
  readonly calls: readonly CALL[];
  /** How many records it has of users' sign-ins. */
  readonly signIns: number;
}

/**
 * Chooses among the open calls. Among all of the store, if nothing open has a name that is given, or if some open ones
 * cannot be read: without their keys, or because a later release wrote them.
 */
export async function chooseCalls(
  opened: OpenedStore,
  command: Command,
  choose: (look: Look<CallRow>) => CallRow[],
): Promise<CallRow[]> {
  const { calls, unread, gone } = await opened.records.openCalls();
  // With keys and without that of fingerprints nothing is found under its key.
  const isUnsure = unread > 0 || (gone > 0 && opened.hasKeys && !opened.fingerprintKey);
  const short = await createShortNames(opened, command);
  const byAge = calls.toSorted((a, b) => b.record.askedAt - a.record.askedAt);
  const rows = byAge.map(({ record: call, owner, key, ...of }) => {
    const stored = { key, owner };
    return { ...rowOf(short, stored, of), isSealed: false, isNewer: false, of, call, stored };
  });
  try {
    if (!isUnsure) return choose({ sessions: [], calls: rows, signIns: 0 });
  } catch (error) {
    if (!(error instanceof CommandFailure)) throw error;
  }
  return choose(await lookInto(opened, command));
}

/** Lists a whole store, or what is of an agent. Writes nothing but the key of the short names. */
export async function lookInto(
  opened: OpenedStore,
  command: Command,
  { agent }: { readonly agent?: string } = {},
): Promise<Look> {
  const short = await createShortNames(opened, command);
  const ofAgent = agent && JSON.stringify([agent === "-" ? null : agent]).slice(0, -1);
  const found = await opened.records.list(ofAgent && `${ofAgent},`);
  const sessions = found.sessions.map((stored) => sessionRow(opened, short, stored));
  const own = found.calls.filter(({ of }) => !waitingKeys.isNews(of.id));
  const calls = own.map((stored) => callRow(opened, short, stored));
  const { signIns } = found;
  opened.checkKeys();
  return { sessions: sessions.toSorted(byUse), calls: calls.toSorted(byUse), signIns };
}

function byUse(a: SessionRow | RecordedCall, b: SessionRow | RecordedCall): number {
  return b.stored.lastUsedAt - a.stored.lastUsedAt;
}

function sessionRow(
  opened: OpenedStore,
  short: ShortName,
  { details, ...stored }: ListedRecord & Pick<SessionRow, "details">,
): SessionRow {
  const { value, ...rest } = stored;
  const sealed = opened.sealedBytes(stored);
  return {
    ...rowOf(short, stored, stored.of),
    isSealed: sealed !== undefined,
    bytes: sealed ?? Buffer.byteLength(JSON.stringify(value)),
    of: stored.of,
    details,
    stored: rest,
  };
}

function callRow(opened: OpenedStore, short: ShortName, stored: ListedCall): RecordedCall {
  return {
    ...rowOf(short, stored, stored.of),
    isSealed: opened.sealedBytes(stored) !== undefined,
    of: stored.of,
    call: parseWaitingRecord(stored.value),
    isNewer: isNewerCall(stored.value),
    stored,
  };
}

/** The names of a row. */
function rowOf(
  short: ShortName,
  { key, owner }: Row["stored"],
  { agent, sessionId }: { readonly agent: string | null; readonly sessionId?: string | undefined },
) {
  const { type } = parseRecordOwner(owner) ?? { type: "hidden" };
  const hasName = type === "user" || type === "hidden";
  return {
    row: short("row", key),
    owner: hasName ? `${type}-${short("owner", owner)}` : type,
    agentSession: sessionId === undefined ? undefined : short("session", sessionId),
    agent,
  };
}
