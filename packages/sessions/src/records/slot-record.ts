import {
  invalidOption,
  oauthKeys,
  isRecord,
  waitingKeys,
  shape,
  type Shaped,
  snapshotParser,
} from "@durable-mcp/core/internal";
import {
  type ActiveSessionSnapshot,
  parseSessionSnapshot,
  type Principal,
  principalParts,
  type StoredRecord,
} from "@durable-mcp/core";
import { describeKept, isNewerEntry, type KeptSession } from "./kept-session.ts";
import type { StoredSession } from "./session-reports.ts";
import { parseSlotName, slotNameStart, slotName, type SlotName } from "./step-slot.ts";

/** A store's record of one slot of an agent session. */
export interface SlotRecord extends KeptSession {
  readonly version: 1;
  /** The time of the last mark of use, in milliseconds since 1970-01-01 UTC. */
  readonly savedAt: number;
}

/** The parts of a record's key. */
export interface RecordName extends SlotName {
  /** `null` for sessions that the agents of a principal share. */
  readonly agent: string | null;
  /** The agent session; `undefined` for a session that agent sessions share. */
  readonly sessionId?: string | undefined;
}

/** The name of what an agent session has seen of a session that it shares, instead of the session's. */
export function isSeenName({ sessionId, shared }: RecordName): boolean {
  return sessionId !== undefined && shared !== undefined;
}

/** A record from a store's list, and the name in its key. */
export interface ListedRecord extends StoredRecord {
  readonly of: RecordName;
}

/** Sessions that nobody could end are forgotten when there are more than this, the oldest first. */
const maxEnding = 10;

/** The name of a slot's record. A shared one is of no agent session. */
export function recordName(
  { agent, sessionId }: Pick<RecordName, "agent" | "sessionId">,
  slot: SlotName,
): RecordName {
  return { agent, ...(slot.shared === undefined && { sessionId }), ...slot };
}

/** A JSON array of all parts, so no choice of names or ids makes two keys collide. */
export function recordKey(name: RecordName, principal: Principal) {
  const { agent, sessionId, ...slot } = name;
  const { connection, shared } = slot;
  const text = isSeenName(name) ? JSON.stringify([connection, shared, "seen"]) : slotName(slot);
  return JSON.stringify([agent, sessionId ?? null, text, ...principalParts(principal)]);
}

/** The start of the keys of these records, and of no others; with `null`, of the shared sessions. */
export function recordPrefix(...parts: [agent: string | null, sessionId?: string | null]): string {
  return `${JSON.stringify(parts).slice(0, -1)},`;
}

/** The start of the keys of named sessions, and of no others. */
export function namedRecordPrefix(agent: string | null, sessionId: string): string {
  return `${recordPrefix(agent, sessionId)}"${slotNameStart}`;
}

export function recordOwner(principal: Principal): string {
  return JSON.stringify(principalParts(principal));
}

/** The name in a key, with the principal or its fingerprint; `undefined` for other keys. */
export function parseRecordKey(key: string): RecordName | undefined {
  if (oauthKeys.has(key) || waitingKeys.parse(key) !== undefined) return undefined;
  const [agent, sessionId, slot] = parseTexts(key, [null]) ?? [];
  if (agent === undefined || sessionId === undefined || typeof slot !== "string") return undefined;
  const seen = parseTexts(slot, []);
  if (sessionId !== null && seen?.length === 3 && seen[2] === "seen") {
    return { agent, sessionId, connection: seen[0]!, shared: seen[1]! };
  }
  const { connection, name } = parseSlotName(slot);
  if (sessionId === null)
    return name === undefined ? undefined : { agent, connection, shared: name };
  return { agent, sessionId, connection, ...(name !== undefined && { name }) };
}

/** The principal that an owner names; `undefined` if the store keeps a fingerprint instead. */
export function parseRecordOwner(owner: string): Principal | undefined {
  const [type, issuer, id, ...others] = parseTexts(owner, []) ?? [];
  if (others.length > 0) return undefined;
  if (type === "user" && issuer && id) return { type, issuer, id };
  return (type === "app" || type === "anonymous") && issuer === undefined ? { type } : undefined;
}

/** The rest is parsed by itself. */
const recordShape = shape.openRecordOf({
  ...{ version: shape.exactly(1), savedAt: shape.anyNumber },
  ...{ "startedAt?": shape.anyNumber, "idleTimeoutMs?": shape.anyMs },
});

/** Parses a record from outside; `undefined` if it does not parse. */
export function parseRecord(value: unknown): SlotRecord | undefined {
  try {
    if (recordShape(value) !== undefined) return undefined;
    const fields = value as Shaped<typeof recordShape> & Record<string, unknown>;
    const { version: _v, snapshot, startedAt, savedAt, ending, idleTimeoutMs, ...rest } = fields;
    // The others are fields that only later releases know.
    const { users: _, looks: __, ["__proto__"]: ___, ...others } = rest;
    const parse = snapshotParser(value);
    const sessions = ending === undefined ? [] : (ending as unknown[]).map(parse);
    if (!sessions.every((session) => session.kind === "session")) return undefined;
    return createRecord({
      ...others,
      snapshot: parse(snapshot),
      ...{ startedAt, savedAt, idleTimeoutMs },
      ending: sessions,
    });
  } catch {
    return undefined;
  }
}

/**
 * The session in a record that does not parse, as far as it takes to end it; `undefined` if there is
 * none to be found.
 */
export function sessionToEnd(value: unknown): ActiveSessionSnapshot | undefined {
  const snapshot = isRecord(value) ? value["snapshot"] : undefined;
  if (!isRecord(snapshot)) return undefined;
  const { url, sessionId, initializeResult } = snapshot;
  const { protocolVersion } = isRecord(initializeResult) ? initializeResult : {};
  const serverInfo = { name: "", version: "" };
  try {
    const session = parseSessionSnapshot({
      version: 1,
      kind: "session",
      url,
      sessionId,
      initializeResult: { protocolVersion, capabilities: {}, serverInfo },
      clientCapabilities: {},
    });
    return session as ActiveSessionSnapshot;
  } catch {
    return undefined;
  }
}

/** A record of these fields; empty ones are left out. */
export function createRecord(parts: Omit<SlotRecord, "version">): SlotRecord {
  const { ending = [], idleTimeoutMs, startedAt, ...fields } = parts;
  return {
    version: 1,
    ...fields,
    ...(startedAt !== undefined && { startedAt }),
    ...(ending.length > 0 && { ending: ending.slice(-maxEnding) }),
    ...(idleTimeoutMs !== undefined && { idleTimeoutMs }),
  };
}

/** The name of a record in a report. The sessions of a state have no id of an agent session. */
export function whoseRecord(name: RecordName) {
  const { agent: _, sessionId, ...slot } = name;
  return { ...(sessionId && { sessionId }), ...slot };
}

/** Describes a record without its MCP session's id. */
export function describeRecord({ of, value, lastUsedAt }: ListedRecord): StoredSession {
  return { ...whoseRecord(of), ...describeValue(value, lastUsedAt) };
}

/** Describes a record's value, whoever's it is. */
export function describeValue(value: unknown, lastUsedAt: number) {
  if (isNewerEntry(value)) return { kind: "newer" as const, lastUsedAt };
  return describeKept(parseRecord(value), lastUsedAt);
}

/** Whether the time-out of a named session is up. */
export function isOverdue({ value, lastUsedAt }: StoredRecord, time: number): boolean {
  const { snapshot, idleTimeoutMs } = parseRecord(value) ?? {};
  const isOver = idleTimeoutMs !== undefined && time - lastUsedAt >= idleTimeoutMs;
  return isOver && snapshot?.kind === "session";
}

/** @throws {McpSessionError} `CONNECTION_INVALID` */
export function checkSessionId(sessionId: unknown): void {
  if (typeof sessionId === "string" && sessionId !== "") return;
  throw invalidOption("sessionId", "must be a non-empty string");
}

/** The shortest idle time that cannot hit a session in use, because those are only marked now and then. */
export function leastIdleMs(touchIntervalMs: number): number {
  return 3 * touchIntervalMs;
}

/** @throws {McpSessionError} `CONNECTION_INVALID` */
export function checkIdleMs(idleMs: number, field: string, touchIntervalMs: number): void {
  const leastMs = leastIdleMs(touchIntervalMs);
  if (idleMs >= leastMs) return;
  throw invalidOption(
    field,
    `must be at least ${leastMs} (3 × touchIntervalMs), or a session in use could look idle`,
  );
}

function parseTexts<OTHER>(text: string, others: readonly OTHER[]): (string | OTHER)[] | undefined {
  try {
    const parts: unknown = JSON.parse(text);
    const isPart = (part: unknown) => typeof part === "string" || others.includes(part as OTHER);
    return Array.isArray(parts) && parts.every(isPart) ? parts : undefined;
  } catch {
    return undefined;
  }
}
