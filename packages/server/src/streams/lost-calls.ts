import { fingerprint } from "../base/session-id.ts";
import { commitRows } from "../records/commit-rows.ts";
import type { StoreContext } from "../records/store-context.ts";
import { answerKey, newCallRow, parseCallRecord } from "./call-record.ts";
import type { CallRecord, StreamEvent } from "./call-record.ts";

/** A call whose process is dead. */
interface LostCall {
  readonly hash: string;
  readonly owner: string;
  readonly call: string;
  /** Its answers. */
  readonly events: readonly StreamEvent[];
  /** The place before them. */
  readonly last: number;
}

/**
 * Declares a call lost, so that its process, should it live after all, stores no answer to it. Nothing is
 * stored when the session has too many such calls.
 */
export type DeclareLost = (lost: LostCall) => Promise<void>;

/** Sessions whose declarations are counted; with more, counts that are too old are dropped. */
const maxCounts = 1_000;

/**
 * A session has few calls in flight, but its client can make up event ids of any number of calls, and
 * each would leave a record behind. So no more are declared lost than a session may have in flight.
 */
export function createDeclareLost(context: StoreContext): DeclareLost {
  const { settings, store, emit } = context;
  const counts = new Map<string, { count: number; readonly until: number }>();

  function isAllowed(hash: string): boolean {
    const time = settings.now();
    const known = counts.get(hash);
    if (known && known.until > time) {
      known.count += 1;
      return known.count <= settings.limits.requestsPerSession;
    }
    if (counts.size >= maxCounts) {
      for (const [other, { until }] of counts) if (until <= time) counts.delete(other);
    }
    counts.set(hash, { count: 1, until: time + settings.timeouts.resumeMs });
    return true;
  }

  return async ({ hash, owner, call, events, last }) => {
    if (!isAllowed(hash)) return;
    const tombstone: CallRecord = { version: 1, events, isTombstone: true, last };
    const row = newCallRow(context, answerKey(context, hash, call), tombstone, owner);
    if ((await commitRows(store, [row])) === "stored") {
      emit({ type: "outcome-unknown", session: fingerprint(hash) });
    }
  };
}

/** Whether a call was declared lost to a client that has this place of its stream, or gets it from the store. */
export async function isLostAfter(
  context: StoreContext,
  hash: string,
  { name, place = Infinity }: { readonly name: string; readonly place?: number | undefined },
): Promise<boolean> {
  const stored = await context.store.get(answerKey(context, hash, name));
  return (parseCallRecord(stored?.value)?.last ?? -1) >= place;
}
