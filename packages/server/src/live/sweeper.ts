import { detach } from "@durable-mcp/core/internal";
import { expiryOf, renewAfter } from "../records/session-record.ts";
import type { StoreContext } from "../records/store-context.ts";
import type { LivePool } from "./live-pool.ts";

/**
 * Closes the servers in this process whose session is over.
 *
 * A session that was ended elsewhere is noticed by its next request, by its running calls and streams,
 * and at the latest when it would have expired. So an idle session costs one read in its idle time.
 */
export function createSweeper({ sessions, settings }: StoreContext, pool: LivePool) {
  const { now, timeouts } = settings;
  let timer: ReturnType<typeof setInterval> | undefined;
  let sweeping: Promise<number> | undefined;

  async function closeIfOver(hash: string): Promise<boolean> {
    const live = pool.find(hash);
    try {
      const isOver = live ? !(await live.stored.load()) : !(await sessions.isStored(hash));
      if (isOver) await pool.close(hash);
      return isOver;
    } catch {
      // A session that cannot be read stays; the store has emitted its failure.
      return false;
    }
  }

  async function closeAll(hashes: readonly string[]): Promise<number> {
    let closed = 0;
    for (const hash of hashes) if (await closeIfOver(hash)) closed += 1;
    return closed;
  }

  function hasExpiredHere(hash: string): boolean {
    const live = pool.find(hash);
    return live !== undefined && expiryOf(live.stored.record, timeouts) <= now();
  }

  function look(): void {
    sweeping ??= closeAll(pool.hashes.filter(hasExpiredHere)).finally(() => {
      sweeping = undefined;
    });
  }

  return {
    /** Looks at all of them. @returns how many it closed */
    sweep: () => closeAll(pool.hashes),
    /** Looks again and again while there are any: only at those that have expired as far as this process knows. */
    run: (isUsed: boolean): void => {
      clearInterval(timer);
      timer = undefined;
      if (!isUsed) return;
      timer = setInterval(look, renewAfter(timeouts));
      // The process may end when all else is done.
      detach(timer);
    },
  };
}
