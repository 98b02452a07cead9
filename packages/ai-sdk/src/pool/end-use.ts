import { isNamedProcess } from "./connection-pool.ts";
import type { PooledUse } from "./pooled-use.ts";

/** Gives the connection back to the pool, or closes it if no later run can use it. */
export async function endUse(use: PooledUse): Promise<void> {
  const { pool, key, phase, entry, isHandedOut, runSignal, abandon } = use;
  use.phase = "over";
  runSignal.removeEventListener("abort", abandon);
  if (isNamedProcess(entry) && entry.time.isActive()) {
    const isUnused = phase === "untouched";
    // A process that died keeps its name, and the next one tells the model.
    if (entry.connection.process?.status()) return pool.give(key, entry, { isUnused });
    if (phase !== "made") return await pool.close(entry, "stale");
  }
  if (phase === "untouched") return pool.give(key, entry, { isUnused: true });
  if (entry.connection.openings.size === 0 && !isHandedOut) {
    // It has no client, or lost it, but it may have started a session or a process.
    return await pool.close(entry, "unhealthy");
  }
  const isBusy = use.calls + use.connecting > 0 || isHandedOut || !entry.time.isActive();
  if (isBusy) return await pool.close(entry, "busy");
  if (entry.isSuspect) return await pool.close(entry, "unhealthy");
  pool.give(key, entry);
}
