import { sameJson } from "@durable-mcp/core/internal";
import {
  createSessionSlot,
  McpSessionError,
  type SessionSlot,
  type SessionSnapshot,
  type ActiveSessionSnapshot,
  type SessionStore,
  type StoredValue,
} from "@durable-mcp/core";
import type { DurableSessionEvent } from "./durable-session-event.ts";
import type { McpSessionEnd } from "../http/end-mcp-session.ts";
import type { StepSlot } from "../slots/step-slot.ts";
import { parseRecord, recordValue, type SessionRecord } from "./session-record.ts";
import { whatToWrite } from "./what-to-write.ts";

/** A step's slot of one connection, and its record in the store. */
export interface StoredSlot extends StepSlot {
  /** Why the last session could not be saved. */
  readonly saveFailure: unknown;
  /** Marks a stored session as used. */
  touch(): Promise<void>;
  /** Waits until the sessions that nobody will use are ended; bounded. */
  settle(): Promise<void>;
  /** Writes what changed since it was saved. */
  close(): Promise<void>;
}

type EventOfSlot = DurableSessionEvent extends infer EVENT
  ? EVENT extends unknown
    ? Omit<EVENT, "connection">
    : never
  : never;

/** More conflicts in a row than processes can cause: the store does not do what it says. */
const maxConflicts = 100;

/**
 * Loads the record of one connection of an agent session. A session that was not written for
 * `touchIntervalMs` is written anew, so that a sweep that is about to end it finds another revision.
 *
 * @throws {McpSessionError} `STORE_FAILED`
 */
export async function loadStoredSlot({
  store,
  key,
  owner,
  url,
  touchIntervalMs,
  idleTimeoutMs,
  createSlot = createSessionSlot,
  end,
  emit,
  now,
}: {
  store: SessionStore;
  key: string;
  owner: string;
  /** The connection's URL: of another one no session is adopted or ended. */
  url: string;
  touchIntervalMs: number;
  /** Stored with the session. @default what is stored already */
  idleTimeoutMs?: number | undefined;
  /** Makes the slot for what is stored, or has one that is on it. */
  createSlot?: ((snapshot: SessionSnapshot | undefined) => SessionSlot) | undefined;
  /** Ends a session on the server, in bounded time. */
  end: (session: ActiveSessionSnapshot) => Promise<McpSessionEnd>;
  emit: (event: EventOfSlot) => void;
  now: () => number;
}): Promise<StoredSlot> {
  /** What is stored, as far as is known here. */
  let revision: string | null = null;
  let record: SessionRecord | undefined;
  let saveFailure: unknown;
  /** Sessions of the record that this step has tried to end. */
  const tried = new Set<string>();
  /** Sessions that this step has used: what replaces one of them replaces a lost one. */
  const used = new Set<string>();
  const endings = new Set<Promise<unknown>>();

  const accept = (stored: StoredValue | undefined) => {
    revision = stored?.revision ?? null;
    record = stored && parseRecord(stored.value);
    if (stored !== undefined && record === undefined) {
      emit({ type: "discarded", reason: "invalid" });
    }
  };

  const put = async (next: SessionRecord): Promise<boolean> => {
    const result = await store.put(key, recordValue(next), revision, { owner });
    if (result.ok) {
      revision = result.revision;
      record = next;
      return true;
    }
    accept(result.current);
    return false;
  };

  const endInBackground = (session: ActiveSessionSnapshot) => {
    const attempt = async () => {
      const outcome = await end(session);
      if (outcome.ended) return;
      const { ended: _, ...why } = outcome;
      emit({ type: "not-ended", ...why });
    };
    const ending = attempt().finally(() => endings.delete(ending));
    endings.add(ending);
  };

  /** Tries what an earlier process may not have come to. */
  const endLeftOvers = () => {
    for (const session of record?.ending ?? []) {
      if (tried.has(session.sessionId)) continue;
      tried.add(session.sessionId);
      if (session.url === url) endInBackground(session);
    }
  };

  /** The sessions still to be ended that this step knows nothing of. */
  const leftOvers = () => {
    const ending = record?.ending?.filter(({ sessionId }) => !tried.has(sessionId)) ?? [];
    return ending.length > 0 ? { ending } : {};
  };

  const settings = () => {
    const idleMs = idleTimeoutMs ?? record?.idleTimeoutMs;
    return idleMs === undefined ? {} : { idleTimeoutMs: idleMs };
  };

  const load = async () => {
    accept(await store.get(key));
    await untilSettled(async () => {
      if (record?.snapshot.kind !== "session") return true;
      const age = now() - record.savedAt;
      if (age >= 0 && age < touchIntervalMs) return true;
      return await put({ ...record, savedAt: now() });
    });
    endLeftOvers();
  };

  await load();
  /** What the slot's snapshot comes from. */
  let base: SessionSnapshot | undefined = record?.snapshot;
  const slot = createSlot(base);
  if (record?.snapshot.kind === "session") used.add(record.snapshot.sessionId);

  const save = async (own: ActiveSessionSnapshot): Promise<ActiveSessionSnapshot> => {
    let saved = own;
    await untilSettled(async () => {
      const time = now();
      // Of a record that is replaced only what is still to be ended outlives it, and its settings.
      const times = { startedAt: time, savedAt: time };
      const next = { version: 1, snapshot: own, ...times, ...settings() } as const;
      if (await put({ ...next, ...(record?.ending && { ending: record.ending }) })) return true;
      const stored = record?.snapshot;
      endLeftOvers();
      if (stored?.kind !== "session" || stored.url !== url || used.has(stored.sessionId)) {
        return false;
      }
      saved = stored;
      return true;
    });
    used.add(saved.sessionId);
    base = saved;
    if (saved !== own) {
      endInBackground(own);
      emit({ type: "adopted" });
    }
    return saved;
  };

  /** @returns whether there is nothing more to write */
  const write = async (): Promise<boolean> => {
    const final = slot.snapshot;
    const hasTried = record?.ending?.some(({ sessionId }) => tried.has(sessionId)) ?? false;
    const isUnreadable = record === undefined && revision !== null;
    if (sameJson(final, base) && !hasTried && !isUnreadable) return true;
    const decision = whatToWrite({ base, final, stored: record?.snapshot });
    if (decision === "conflict") {
      const isNewer = record?.snapshot.kind === "session";
      emit({ type: "conflict", stored: isNewer ? "newer-session" : "nothing" });
      return true;
    }
    if (decision === "nothing" && !hasTried) return true;
    const snapshot = decision === "nothing" ? record?.snapshot : decision.snapshot;
    if (snapshot !== undefined) {
      const time = now();
      const startedAt = record?.startedAt ?? time;
      const times = { startedAt, savedAt: time };
      return await put({ version: 1, snapshot, ...times, ...leftOvers(), ...settings() });
    }
    if (revision === null) return true;
    const deleted = await store.delete(key, revision);
    if (!deleted.ok) accept(deleted.current);
    return deleted.ok;
  };

  return {
    slot,
    get saveFailure() {
      return saveFailure;
    },
    async onSession(own) {
      try {
        const saved = await save(own);
        saveFailure = undefined;
        return saved;
      } catch (error) {
        saveFailure = error;
        // It may have been saved all the same; then the next step finds it ended and starts another,
        // and this one does not take it for another process's.
        used.add(own.sessionId);
        endInBackground(own);
        throw error;
      }
    },
    async touch() {
      if (record?.snapshot.kind === "session") await store.touch(key, now());
    },
    async settle() {
      await Promise.all(endings);
    },
    async close() {
      await untilSettled(write);
    },
  };
}

/** Repeats what met a conflict, with what is stored now. */
async function untilSettled(attempt: () => Promise<boolean>): Promise<void> {
  for (let conflicts = 0; conflicts < maxConflicts; conflicts += 1) {
    if (await attempt()) return;
  }
  throw new McpSessionError(
    "STORE_FAILED",
    `The store reported ${maxConflicts} conflicts in a row on one key. Check that its put compares and sets.`,
  );
}
