import {
  type InspectedRecord,
  inspectRecord,
  type ListedCall,
  type ListedRecord,
  listRecords,
  parseRecordOwner,
} from "@durable-mcp/ai-sdk/internal";
import type { StoredRecord } from "@durable-mcp/core";
import {
  isNewerCall,
  parseWaitingRecord,
  type WaitingRecord,
} from "@durable-mcp/core/waiting/internal";
import type { Command } from "commander";
import { tell } from "../output/print.ts";
import type { OpenedStore } from "./open-store.ts";
import { commonLength, createShortNames, type ShortName } from "./short-names.ts";

/** A record, by the names that people choose it by. None of them says anything to who has not the store's key. */
export interface Row {
  readonly row: string;
  /** `app`, `anonymous`, `user-…`, or `hidden-…` for a fingerprint. */
  readonly owner: string;
  /** The agent session; `undefined` for a session that agent sessions share. */
  readonly agentSession: string | undefined;
  /** `null` for what agents share. */
  readonly agent: string | null;
  /** Of the record's JSON. */
  readonly bytes: number;
  readonly isSealed: boolean;
  readonly lastUsedAt: number;
}

export interface SessionRow extends Row {
  readonly of: ListedRecord["of"];
  readonly details: InspectedRecord;
  /** Without its value, which can be large. */
  readonly stored: Omit<ListedRecord, "value">;
}

export interface CallRow extends Row {
  readonly of: ListedCall["of"];
  /** `undefined` if it is sealed or does not parse. */
  readonly call: WaitingRecord | undefined;
  /** Whether a later release wrote it. */
  readonly isNewer: boolean;
  readonly stored: ListedCall;
}

/** Whether a call waits, or an answer to it is under way, as far as it can be read. */
export function isOpen({ call }: CallRow): boolean {
  return call === undefined || call.state === "waiting" || call.state === "answering";
}

/** All that a store has of sessions and waiting calls; what was used last is first. */
export interface Look {
  readonly sessions: readonly SessionRow[];
  readonly calls: readonly CallRow[];
  /** How many records it has of users' sign-ins. */
  readonly signIns: number;
}

const pageSize = 200;

/** Lists a whole store. Writes nothing but the key of the short names. */
export async function lookInto(opened: OpenedStore, command: Command): Promise<Look> {
  const short = await createShortNames(opened, () =>
    tell(command, "The store takes no writes, so the short names are of this output alone."),
  );
  const [sessions, calls]: [SessionRow[], CallRow[]] = [[], []];
  let signIns = 0;
  let cursor: string | undefined;
  do {
    const page = await listRecords(opened.store, { cursor, limit: pageSize });
    sessions.push(...page.records.map((stored) => sessionRow(opened, short, stored)));
    calls.push(...page.waiting.map((stored) => callRow(opened, short, stored)));
    signIns += page.grants.length;
    ({ cursor } = page);
  } while (cursor !== undefined);
  opened.checkKeys();
  return { ...withShortNames(sessions, calls), signIns };
}

function sessionRow(opened: OpenedStore, short: ShortName, stored: ListedRecord): SessionRow {
  const { value: _, ...rest } = stored;
  const { agent, sessionId } = stored.of;
  return {
    ...rowOf(opened, short, stored, { agent, sessionId }),
    of: stored.of,
    details: inspectRecord(stored),
    stored: rest,
  };
}

function callRow(opened: OpenedStore, short: ShortName, stored: ListedCall): CallRow {
  return {
    ...rowOf(opened, short, stored, stored.of),
    of: stored.of,
    call: parseWaitingRecord(stored.value),
    isNewer: isNewerCall(stored.value),
    stored,
  };
}

function rowOf(
  { sealedBytes }: OpenedStore,
  short: ShortName,
  stored: StoredRecord,
  { agent, sessionId }: { readonly agent: string | null; readonly sessionId?: string | undefined },
): Row {
  const { key, owner, value, lastUsedAt } = stored;
  const sealed = sealedBytes(stored);
  const { type } = parseRecordOwner(owner) ?? { type: "hidden" };
  const hasName = type === "user" || type === "hidden";
  return {
    row: short("row", key),
    owner: hasName ? `${type}-${short("owner", owner)}` : type,
    agentSession: sessionId === undefined ? undefined : short("session", sessionId),
    agent,
    bytes: sealed ?? Buffer.byteLength(JSON.stringify(value)),
    isSealed: sealed !== undefined,
    lastUsedAt,
  };
}

/** Cuts all names to the shortest length at which they differ. */
function withShortNames(
  sessions: readonly SessionRow[],
  calls: readonly CallRow[],
): Pick<Look, "sessions" | "calls"> {
  const all: Row[] = [...sessions, ...calls];
  const rows = commonLength(all.map(({ row }) => row));
  const ofOwner = /^(user-|hidden-)(.*)$/;
  const owners = commonLength(all.flatMap(({ owner }) => ofOwner.exec(owner)?.[2] ?? []));
  const agentSessions = commonLength(all.flatMap(({ agentSession }) => agentSession ?? []));
  const cut = <ROW extends Row>(each: ROW): ROW => ({
    ...each,
    row: each.row.slice(0, rows),
    owner: each.owner.replace(
      ofOwner,
      (_, kind: string, name: string) => kind + name.slice(0, owners),
    ),
    agentSession: each.agentSession?.slice(0, agentSessions),
  });
  const byUse = (a: Row, b: Row) => b.lastUsedAt - a.lastUsedAt;
  return { sessions: sessions.map(cut).toSorted(byUse), calls: calls.map(cut).toSorted(byUse) };
}
