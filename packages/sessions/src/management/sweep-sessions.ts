import type { StoredRecord } from "@durable-mcp/core";
import { inParallel } from "../base/in-parallel.ts";
import { deleteAll } from "../base/delete-all.ts";
import { endRecord } from "../records/end-record.ts";
import {
  checkIdleMs,
  isOverdue,
  type ListedRecord,
  recordPrefix,
  whoseRecord,
} from "../records/slot-record.ts";
import { listRecords } from "../records/stored-records.ts";
import { isNewerEntry } from "../records/kept-session.ts";
import { deleteUnusedCalls, type ListedCall, sweepableCalls } from "../waiting/waiting-records.ts";
import { type AuthorizeSession, authorizeRecord } from "./selected-records.ts";
import type { SessionsContext } from "../sessions/sessions-context.ts";

/** Which sessions a sweep ends. */
export interface SweepOptions {
  /**
   * Ends sessions that nobody used for this long, in milliseconds; at least three times `touchIntervalMs`.
   * @default only named sessions, after their own `idleTimeoutMs`; this reads every record that is not in use
   */
  readonly idleForMs?: number | undefined;
  /** Only named sessions of that name. */
  readonly name?: string | undefined;
  /** Only shared sessions, or only others. @default all */
  readonly shared?: boolean | undefined;
  /** How many sessions and calls at most, 1 to 1000. @default 100 */
  readonly limit?: number | undefined;
  /** @default only the records go */
  readonly authorize?: AuthorizeSession | undefined;
}

/** Removes what nobody has used, as `sweep` of an operator says. */
export async function sweepSessions(
  context: SessionsContext,
  { idleForMs, name, shared, limit = 100, authorize }: SweepOptions,
) {
  const { store, agent, touchIntervalMs, maybeInUseMs, now } = context;
  const isByName = idleForMs === undefined;
  if (!isByName) checkIdleMs(idleForMs, "idleForMs", touchIntervalMs);
  const time = now();
  const idleSince = Math.max(0, time - Math.max(idleForMs ?? 0, maybeInUseMs));
  const query = { name, shared, prefix: recordPrefix(agent), idleSince, limit };
  const idle: ListedRecord[] = [];
  const waiting: ListedCall[] = [];
  const seen: ListedRecord[] = [];
  let cursor: string | undefined;
  let left = limit;
  do {
    const page = await listRecords(store, { ...query, cursor });
    const records = page.records.filter(isOfThisRelease);
    idle.push(...records.filter((record) => !isByName || isOverdue(record, time)));
    if (!isByName) waiting.push(...(await sweepableCalls(page.waiting)));
    if (!isByName) seen.push(...page.seen);
    ({ cursor } = page);
    left = limit - idle.length - waiting.length;
    // A page may have no record that is wanted.
  } while (cursor !== undefined && left > 0);
  const sweeping = idle.slice(0, limit);
  const unusable: ListedRecord[] = [];
  const [swept, waitingCalls] = await Promise.all([
    inParallel(sweeping, async (stored) => {
      const use = await authorizeRecord(context, stored, authorize);
      if (use === undefined) unusable.push(stored);
      if (use === undefined || use === "changed") return [];
      const mode = isByName ? "idle" : "sweep";
      const ended = await endRecord(context, stored.of, stored, { ...use, mode });
      return ended ? [{ owner: stored.owner, ...ended }] : [];
    }),
    deleteUnusedCalls(context.store, waiting.slice(0, limit - sweeping.length)),
    deleteAll(store, seen),
  ]);
  const removed = await deleteAll(store, unusable);
  const gone = removed.map(({ of, owner }) => {
    return { owner, ...whoseRecord(of), ended: false, removed: true };
  });
  return {
    sessions: [...swept.flat(), ...gone],
    waitingCalls,
    more: cursor !== undefined || left < 0,
  };
}

/** Later releases sweep their own records. */
function isOfThisRelease({ value }: StoredRecord): boolean {
  return !isNewerEntry(value);
}
